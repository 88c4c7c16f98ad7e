package clients

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"time"

	"atlas/client"
)

// callWorkspace makes the calls about a workspace's own things; nil for others.
func callWorkspace(ctx context.Context, api *client.Client, c behaviour) (map[string]any, error) {
	one := func(id string, err error) (map[string]any, error) { return map[string]any{"ids": []string{id}}, err }
	switch c.Call {
	case "members":
		return collected(api.Members.List(ctx), func(m client.Member) string { return m.ID })
	case "skills":
		return collected(api.Skills.Find(ctx, client.SkillFind{Query: "q"}), func(s client.Skill) string { return s.ID })
	case "invite":
		i, err := api.Invitations.Replace(ctx, "a@a.example", client.RoleMember)
		return one(i.Invitation.ID, err)
	case "favorite":
		v, err := api.Favorites.Upsert(ctx, client.FavoriteUpsert{ViewID: "v", Position: new(int)})
		return one(v.ID, err)
	case "unsubscribe":
		return map[string]any{"ids": []string{}}, api.Subscriptions.Delete(ctx, "s")
	case "accept":
		j, err := api.Invitations.Accept(ctx, "t")
		return one(j.WorkspaceID, err)
	case "create_webhook", "change_webhook":
		id := ""
		if c.Call == "change_webhook" {
			id = "h"
		}
		h, err := api.Webhooks.Upsert(ctx, id, "https://a.example/", client.EventRecordChanged)
		return one(h.ID, err)
	case "test_webhook":
		d, err := api.Webhooks.Test(ctx, "h")
		return one(d.ID, err)
	case "replay":
		d, err := api.Webhooks.Replay(ctx, "h", "d")
		return one(d.ID, err)
	case "replay_between":
		n, err := api.Webhooks.ReplayBetween(ctx, "h", time.Now().Add(-time.Hour), time.Now())
		return map[string]any{"count": n}, err
	case "queue":
		page, err := api.Queue.Search(ctx, client.QueueSearch{InBook: true})
		if err != nil {
			return nil, err
		}
		return map[string]any{"ids": []string{page.Records[0].ID}, "unread": page.Unread}, nil
	case "dismiss":
		b, err := api.Queue.Dismiss(ctx, []string{"a", "b"})
		codes := []client.Code{}
		for _, item := range b.Items {
			code := client.Code("")
			if e, failed := errors.AsType[*client.Error](item.Err); failed {
				code = e.Code
			}
			codes = append(codes, code)
		}
		return map[string]any{"codes": codes}, err
	case "workspace_changes":
		page, err := api.Changes(ctx, client.WorkspaceChangesRequest{Cursor: "c1"})
		if err != nil {
			return nil, err
		}
		change := page.Changes[0]
		return map[string]any{"ids": []string{change.ID}, "ops": []client.Op{change.Op}, "next": page.Next}, nil
	case "follow_workspace":
		return nil, last(api.Follow(ctx, client.WorkspaceChangesRequest{Cursor: "c1"}))
	case "coverage":
		values, err := api.Coverage(ctx, client.CoverageQuery{Dataset: client.DatasetProjects, By: "stage"})
		if err != nil {
			return nil, err
		}
		return one(values[0].Value, nil)
	case "match":
		found, err := api.Accounts.Match(ctx, client.MatchRequest{Inputs: []client.MatchInput{{Ref: "r", Name: "n"}}, Candidates: 2})
		if err != nil {
			return nil, err
		}
		r := found.Results[0]
		return map[string]any{"ids": []string{r.Candidates[0].Record.ID}, "codes": []client.MatchStatus{r.Status}}, nil
	case "read_webhook":
		header := http.Header{}
		for name, value := range c.Headers {
			header.Set(name, value)
		}
		event, err := client.ReadWebhook(c.Secret, header, []byte(c.Received))
		if err != nil {
			return nil, err
		}
		var about struct{ ID string }
		err = json.Unmarshal(event.Data, &about)
		return map[string]any{"ids": []string{about.ID}, "type": event.Type}, err
	}
	return nil, nil
}

func collected[T any](walk iter.Seq2[T, error], id func(T) string) (map[string]any, error) {
	all, err := client.Collect(walk)
	ids := []string{}
	for _, element := range all {
		ids = append(ids, id(element))
	}
	return map[string]any{"ids": ids}, err
}
