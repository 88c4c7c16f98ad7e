package book

import (
	"encoding/json"
	"math"
	"time"

	"atlas/internal/fault"
	"atlas/workspace"
)

// TrendSpan is the length of each of the two adjacent periods whose signals a
// trend compares.
const TrendSpan = 90 * 24 * time.Hour

// ScoreFacts are the inputs of a score other than the tier.
type ScoreFacts struct {
	// LastActivity is zero when unknown.
	LastActivity time.Time
	Projects     int64
	Contacts     int64
	// Recent counts the signals of the last TrendSpan, Before those of the
	// TrendSpan before it.
	Recent, Before int64
}

// FactsOf reads an account's public record; signals are [recent, before].
func FactsOf(account []byte, signals [2]int64) (ScoreFacts, error) {
	var record struct {
		LastActivity *time.Time `json:"last_activity_at"`
		Projects     int64      `json:"projects_count"`
		Contacts     int64      `json:"contacts_count"`
	}
	if err := json.Unmarshal(account, &record); err != nil {
		return ScoreFacts{}, fault.Wrap(err, fault.Internal, "a global record is unreadable")
	}
	f := ScoreFacts{Projects: record.Projects, Contacts: record.Contacts, Recent: signals[0], Before: signals[1]}
	if record.LastActivity != nil {
		f.LastActivity = *record.LastActivity
	}
	return f, nil
}

// The weights of a score's parts, and the counts at which volume and reach are at
// their maximum.
const (
	tierWeight, recencyWeight, volumeWeight, reachWeight = 0.40, 0.30, 0.20, 0.10

	recencyDays                = 90.0
	fullProjects, fullContacts = 50, 20
)

var tierParts = map[string]float64{"tier_1": 1, "tier_2": 0.66, "tier_3": 0.33}

// Score rates how well an account suits the workspace, 0..100, from its tier ("":
// unknown) and its facts (docs/api.md, "Score and trend").
func Score(tier string, f ScoreFacts, at time.Time) int {
	part := 0.5
	if tier == "disqualified" {
		return 0
	}
	if tier != "" {
		part = tierParts[tier]
	}
	recency := 0.0
	if !f.LastActivity.IsZero() {
		days := max(0, at.Sub(f.LastActivity).Hours()/24)
		recency = math.Exp(-days / recencyDays)
	}
	full := func(n, most int64) float64 {
		return min(1, math.Log1p(float64(n))/math.Log1p(float64(most)))
	}
	return int(math.Round(100 * (tierWeight*part + recencyWeight*recency +
		volumeWeight*full(f.Projects, fullProjects) + reachWeight*full(f.Contacts, fullContacts))))
}

// Trend compares the signals of the last TrendSpan with those before.
func Trend(f ScoreFacts) string {
	switch {
	case f.Recent > 0 && 10*f.Recent >= 12*f.Before:
		return "rising"
	case f.Before > 0 && 10*f.Recent <= 8*f.Before:
		return "falling"
	default:
		return "steady"
	}
}

// ScoreOf returns the score and trend of an account.
func ScoreOf(tier string, f ScoreFacts, at time.Time) Scored {
	return Scored{Score: Score(tier, f, at), Trend: Trend(f), At: workspace.StoredTime(at)}
}
