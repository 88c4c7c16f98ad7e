package operator

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"atlas/cmd/internal/cli"
	"atlas/workspace"
	"atlas/workspace/auditlog"
	"atlas/workspace/postgres"
)

// chainOption chooses a log.
type chainOption struct {
	Workspace workspace.ID `env:"ATLAS_WORKSPACE" placeholder:"ID" help:"The log of this workspace (default: the installation's)."`
}

type auditListCmd struct {
	database
	chainOption
	Action    []string  `sep:"," placeholder:"ACTION" help:"Only these actions, such as api_key.created, or kinds of objects, such as api_key."`
	Principal uuid.UUID `placeholder:"ID" help:"Only what this user or key did."`
	Object    uuid.UUID `placeholder:"ID" help:"Only events of this object."`
	Since     instant   `placeholder:"TIME" help:"Only from a time on, as 2026-01-31 (its begin in UTC) or 2026-01-31T09:30:00Z."`
	Until     instant   `placeholder:"TIME" help:"Only before a time."`
	Limit     int       `default:"100" help:"How many, the newest (default: 100); 0: all."`
}

// eventsAtOnce is how many events are read at once.
const eventsAtOnce = 1000

// Run lists the events, the newest first.
func (c *auditListCmd) Run(ctx context.Context, s *cli.Streams) error {
	return withSystem(ctx, c.PostgresSystemURL, func(system *postgres.System) error {
		q := auditlog.Query{Actions: c.Action, Principal: c.Principal, Object: c.Object, Since: c.Since.Time, Until: c.Until.Time}
		all := []auditlog.Event{}
		for {
			q.Limit = eventsAtOnce
			if c.Limit > 0 {
				q.Limit = min(q.Limit, c.Limit-len(all))
			}
			page, err := system.EventsOf(ctx, c.Workspace, q)
			if err != nil {
				return err
			}
			if all = append(all, page...); len(page) < q.Limit || c.Limit > 0 && len(all) >= c.Limit {
				break
			}
			q.After = page[len(page)-1].ID
		}
		rows := make([][]string, len(all))
		for i, e := range all {
			by, object, network := string(e.By.Kind), e.ObjectKind, "-"
			if e.By.ID != uuid.Nil {
				by += ":" + e.By.ID.String()
			}
			if e.ObjectID != uuid.Nil {
				object += ":" + e.ObjectID.String()
			}
			if e.Network.IsValid() {
				network = e.Network.String()
			}
			details, err := shownDetails(e)
			if err != nil {
				return err
			}
			rows[i] = []string{when(&e.At), e.Action, by, object, network, orDash(e.Request), numberOrDash(e.Number), details}
		}
		return c.answer(s.Out, all, "AT ACTION BY OBJECT NETWORK REQUEST NUMBER DETAILS", rows)
	})
}

func numberOrDash(n int64) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}

// shownDetails are the details with their placeholders replaced by the values.
func shownDetails(e auditlog.Event) (string, error) {
	var details map[string]any
	if err := json.Unmarshal(e.Details, &details); err != nil {
		return "", err
	}
	for name, value := range details {
		if text, ok := value.(string); ok && e.Values[text] != "" {
			details[name] = e.Values[text]
		}
	}
	text, err := json.Marshal(details)
	return string(text), err
}

type auditVerifyCmd struct {
	database
	chainOption
	Since    string `placeholder:"DIGEST" help:"A digest of the chain that was saved outside of the database: it must be in the chain."`
	AuditKey string `name:"audit-key" env:"ATLAS_AUDIT_KEY" type:"existingfile" placeholder:"FILE" help:"The key of the servers, or its public half, in PEM: whether it signed where the stored part begins."`
	All      bool   `help:"Verify all chains instead of one."`
}

// Check refuses a digest without its chain.
func (c *auditVerifyCmd) Check() error {
	if c.All && (c.Since != "" || !c.Workspace.IsZero()) {
		return errors.New("--all goes with neither --since nor --workspace")
	}
	return nil
}

// VerifyReport is the result of verifying a chain, as --json prints it.
type VerifyReport struct {
	Chain            string             `json:"chain"`
	Events           int64              `json:"events"`
	First            int64              `json:"first"`
	Last             int64              `json:"last"`
	Digest           string             `json:"digest"`
	Unchained        int64              `json:"unchained"`
	CheckpointAfter  int64              `json:"checkpoint_after"`
	CheckpointSigned *bool              `json:"checkpoint_signed"`
	SinceNumber      int64              `json:"since_number"`
	Problems         []auditlog.Problem `json:"problems"`
	Proved           string             `json:"proved"`
	NotProved        string             `json:"not_proved"`
}

// Run verifies the chain and says what that proves. A problem is status 1.
func (c *auditVerifyCmd) Run(ctx context.Context, s *cli.Streams) error {
	var since *auditlog.Digest
	if c.Since != "" {
		d, err := auditlog.ParseDigest(c.Since)
		if err != nil {
			return cli.ConfigError{"--since: " + err.Error()}
		}
		since = &d
	}
	var key ed25519.PublicKey
	if c.AuditKey != "" {
		text, err := os.ReadFile(c.AuditKey)
		if err == nil {
			_, key, err = auditlog.ReadKey(text)
		}
		if err != nil {
			return cli.ConfigError{"--audit-key (ATLAS_AUDIT_KEY): " + err.Error()}
		}
	}
	broken := false
	err := withSystem(ctx, c.PostgresSystemURL, func(system *postgres.System) error {
		chains := []workspace.ID{c.Workspace}
		if c.All {
			heads, err := system.AuditHeads(ctx)
			if err != nil {
				return err
			}
			chains = nil
			for _, h := range heads {
				chains = append(chains, h.Chain)
			}
		}
		reports, rows := []VerifyReport{}, [][]string{}
		for _, chain := range chains {
			r, err := auditlog.Verify(ctx, system, chain, since, key)
			if err != nil {
				return err
			}
			report := verifyReport(r, since)
			reports, broken = append(reports, report), broken || len(r.Problems) > 0
			state := "whole"
			if len(r.Problems) > 0 {
				state = "BROKEN"
			}
			rows = append(rows, []string{
				report.Chain, state, strconv.FormatInt(r.Events, 10), strconv.FormatInt(r.First, 10), strconv.FormatInt(r.Last, 10),
				strconv.FormatInt(r.Unchained, 10), orDash(report.Digest),
			})
		}
		if err := c.answer(s.Out, reports, "CHAIN STATE EVENTS FIRST LAST UNCHAINED DIGEST", rows); err != nil {
			return err
		}
		for _, r := range reports {
			for _, p := range r.Problems {
				fmt.Fprintf(s.Err, "%s, event %d: %s\n", r.Chain, p.Number, p.What)
			}
			if !c.JSON {
				fmt.Fprintf(s.Err, "%s: proved: %s\n%s: not proved: %s\n", r.Chain, r.Proved, r.Chain, r.NotProved)
			}
		}
		return nil
	})
	if err == nil && broken {
		err = errors.New("a chain of the audit log is broken")
	}
	return err
}

func verifyReport(r auditlog.Report, since *auditlog.Digest) VerifyReport {
	v := VerifyReport{
		Chain: "installation", Events: r.Events, First: r.First, Last: r.Last, Unchained: r.Unchained,
		CheckpointAfter: r.Checkpoint.Number, CheckpointSigned: r.Signed, SinceNumber: r.Since, Problems: r.Problems,
	}
	if !r.Chain.IsZero() {
		v.Chain = r.Chain.String()
	}
	if r.Last > 0 {
		v.Digest = r.Digest.String()
	}
	if v.Problems == nil {
		v.Problems = []auditlog.Problem{}
	}
	switch {
	case len(r.Problems) > 0:
		v.Proved = "nothing after the first problem"
	case r.Events == 0:
		v.Proved = "nothing: no event is stored"
	default:
		v.Proved = fmt.Sprintf("events %d to %d follow each other without a gap and have the content that was chained", r.First, r.Last)
		if since != nil && r.Since > 0 {
			v.Proved += fmt.Sprintf("; those up to %d are those of the digest that was given", r.Since)
		}
	}
	v.NotProved = "that nobody who owns the tables wrote the chain anew"
	if since != nil && r.Since > 0 {
		v.NotProved += fmt.Sprintf(" after event %d", r.Since)
	} else {
		v.NotProved += " (give --since a digest that was saved outside)"
	}
	v.NotProved += fmt.Sprintf("; anything about %d events that are not chained yet", r.Unchained)
	if r.Checkpoint.Number > 0 && (r.Signed == nil || !*r.Signed) {
		v.NotProved += fmt.Sprintf("; that retention, and nobody else, deleted the events up to %d", r.Checkpoint.Number)
	}
	return v
}

type auditFailedCmd struct {
	database
	Since instant `placeholder:"TIME" help:"Only from a time on (default: the last 24 hours)."`
	Limit int     `default:"1000" help:"How many rows, the latest (default: 1000)."`
}

// FailedSignIns are the sign-ins that were refused in a minute, as --json prints them.
type FailedSignIns struct {
	Minute  string `json:"minute"`
	Reason  string `json:"reason"`
	Network string `json:"network"`
	Times   int64  `json:"times"`
}

// Run lists the counts, the latest first.
func (c *auditFailedCmd) Run(ctx context.Context, s *cli.Streams) error {
	return withSystem(ctx, c.PostgresSystemURL, func(system *postgres.System) error {
		since := c.Since.Time
		if since.IsZero() {
			since = time.Now().Add(-24 * time.Hour)
		}
		found, err := system.FailedSignIns(ctx, since, c.Limit)
		if err != nil {
			return err
		}
		all, rows := []FailedSignIns{}, [][]string{}
		for _, f := range found {
			network := f.Network.String()
			if f.Network.Bits() == 0 {
				network = "any"
			}
			all = append(all, FailedSignIns{when(&f.Minute), f.Reason, network, f.Times})
			rows = append(rows, []string{when(&f.Minute), strconv.FormatInt(f.Times, 10), network, f.Reason})
		}
		return c.answer(s.Out, all, "MINUTE TIMES NETWORK REASON", rows)
	})
}

type auditEraseCmd struct {
	database
	Value      string `arg:"" help:"The value, such as an e-mail address, in any case of its letters."`
	Containing bool   `help:"Also values that contain it, such as names of keys and Views; it then has at least 3 characters."`
}

// Check refuses a value that many values contain.
func (c *auditEraseCmd) Check() error {
	if c.Containing && utf8.RuneCountInString(c.Value) < 3 {
		return errors.New("with --containing a value has at least 3 characters")
	}
	return nil
}

// Run erases a value from the details of events.
func (c *auditEraseCmd) Run(ctx context.Context, s *cli.Streams) error {
	return withSystem(ctx, c.PostgresSystemURL, func(system *postgres.System) error {
		n, err := system.EraseAuditValue(ctx, c.Value, c.Containing)
		if err != nil {
			return err
		}
		return c.answer(s.Out, map[string]int64{"erased": n}, "ERASED", [][]string{{strconv.FormatInt(n, 10)}})
	})
}
