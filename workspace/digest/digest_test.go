package digest_test

import (
	"testing"
	"time"

	"atlas/internal/fault"
	"atlas/search"
	"atlas/workspace"
	"atlas/workspace/digest"
	"atlas/workspace/subscriptions"
)

func TestNext(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		f              subscriptions.Frequency
		zone, at, want string
	}{
		{subscriptions.Instant, "UTC", "2026-03-04T12:00:00Z", "2026-03-04T12:05:00Z"},
		{subscriptions.Daily, "UTC", "2026-03-04T07:59:59Z", "2026-03-04T08:00:00Z"},
		{subscriptions.Daily, "UTC", "2026-03-04T08:00:00Z", "2026-03-05T08:00:00Z"},
		{subscriptions.Daily, "America/Edmonton", "2026-01-04T14:00:00Z", "2026-01-04T15:00:00Z"},
		{subscriptions.Daily, "America/Edmonton", "2026-03-07T16:00:00Z", "2026-03-08T14:00:00Z"}, // summer time begins
		{subscriptions.Daily, "America/Edmonton", "2026-10-31T15:00:00Z", "2026-11-01T15:00:00Z"}, // and ends
		{subscriptions.Daily, "Pacific/Auckland", "2026-01-04T18:00:00Z", "2026-01-04T19:00:00Z"},
		{subscriptions.Daily, "Nowhere/Else", "2026-03-04T07:00:00Z", "2026-03-04T08:00:00Z"},
		{subscriptions.Weekly, "UTC", "2026-03-04T12:00:00Z", "2026-03-09T08:00:00Z"},
		{subscriptions.Weekly, "UTC", "2026-03-09T07:00:00Z", "2026-03-09T08:00:00Z"},
		{subscriptions.Weekly, "UTC", "2026-03-09T08:00:00Z", "2026-03-16T08:00:00Z"},
		{subscriptions.Weekly, "Pacific/Auckland", "2026-03-08T12:00:00Z", "2026-03-08T19:00:00Z"},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := digest.Next(c.f, c.zone, at).Format(time.RFC3339); got != c.want {
			t.Errorf("%s in %s after %s: %s, want %s", c.f, c.zone, c.at, got, c.want)
		}
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	cursors, err := search.NewCursors([]byte("a key that signs cursors"))
	if err != nil {
		t.Fatal(err)
	}
	links := digest.Links{Cursors: cursors}
	in, user := workspace.NewID(), workspace.NewUserID()
	token := links.Token(in, user)
	if gotIn, gotUser, err := links.Read(token); err != nil || gotIn != in || gotUser != user {
		t.Errorf("%v %v %v", gotIn, gotUser, err)
	}
	for _, bad := range []string{
		"", token[1:], token + "A", cursors.Seal("another purpose", append(in[:], user[:]...)),
		cursors.Seal("end e-mails of signals", make([]byte, 5)),
	} {
		if _, _, err := links.Read(bad); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
