package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"atlas/client"
	"atlas/cmd/internal/cli"
)

// creditLimit is the option of commands that read to the end.
type creditLimit struct {
	MaxCredits *int `placeholder:"N" help:"Stop after this many credits, 1 or more (default: at the workspace's ceiling)."`
}

func (c creditLimit) Check(f *cli.Problems) {
	if c.MaxCredits != nil && *c.MaxCredits < 1 {
		f.Add("--max-credits must be 1 or more")
	}
}

func (c creditLimit) budget() (b budget) {
	if c.MaxCredits != nil {
		b.most = *c.MaxCredits
	}
	return b
}

// budget counts the credits of one run.
type budget struct {
	most   int // 0: no limit
	spent  int
	window client.Window
}

var errBudget = errors.New("the credits that this run may spend are spent")

// limit returns how many rows a request may ask for, at most page. Each row costs at most
// each credits.
func (b *budget) limit(page, each int) (int, error) {
	if b.most == 0 {
		return page, nil
	}
	if left := (b.most - b.spent) / each; left > 0 {
		return min(page, left), nil
	}
	return 0, errBudget
}

func (b *budget) charge(credits int, window client.Window) {
	b.spent, b.window = b.spent+credits, window
}

// search fetches the page at a cursor, no larger than the budget.
func (b *budget) search(ctx context.Context, of target, q client.Search, cursor string) (*client.Page[json.RawMessage], error) {
	var err error
	if q.Limit, err = b.limit(of.most, of.each); err != nil {
		return nil, err
	}
	q.SearchAfter = cursor
	page, err := of.source.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	b.charge(page.Credits, page.Window)
	if page.Next != "" && page.Next == cursor {
		return nil, errors.New("the service answered the same cursor again")
	}
	return page, nil
}

// spending says what was spent. all is the sum over all runs.
func (b *budget) spending(all int) string {
	text := fmt.Sprintf("credits: %s now, %s in all", cli.Grouped(b.spent), cli.Grouped(all))
	if b.window.Ceiling > 0 {
		text += fmt.Sprintf(", %s left", cli.Grouped(b.window.Remaining))
	}
	return text
}

// stoppedForGood is stopped for errors after which no command continues.
func stoppedForGood(to io.Writer, err error, done, spent string) error {
	if errors.Is(err, errBudget) {
		_, _ = fmt.Fprintf(to, "stopped after %s at --max-credits; %s\n", done, spent)
		return cli.ExitError(outOfCreditsStatus)
	}
	_, _ = fmt.Fprintf(to, "stopped after %s; %s\n", done, spent)
	return apiError(to, err)
}

// stopped prints why a run that the same command continues has ended, and returns its exit
// status. done is its result, such as "120 rows".
func stopped(to io.Writer, err error, done, spent string) error {
	say := func(format string, args ...any) {
		_, _ = fmt.Fprintf(to, format+"; %s; the same command goes on\n", append(args, spent)...)
	}
	out, outOfCredits := errors.AsType[*client.OutOfCreditsError](err)
	switch {
	case errors.Is(err, errBudget):
		say("stopped after %s at --max-credits", done)
		return cli.ExitError(outOfCreditsStatus)
	case outOfCredits:
		say("stopped after %s, the credits are used up%s", done, whenCreditsReturn(out))
		return cli.ExitError(outOfCreditsStatus)
	case errors.Is(err, context.Canceled):
		say("interrupted after %s", done)
		return cli.ExitError(interruptedStatus)
	case !errors.Is(err, client.ErrInvalidInput):
		say("stopped after %s", done)
	}
	return apiError(to, err)
}
