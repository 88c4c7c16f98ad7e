//go:build attack

package attack

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atlas/internal/experiment/figures"
	"atlas/scripts/experiments/rig"
)

// Bodies of the largest size with the most expensive trees, from many clients at once:
// the server's memory stays bounded, and others are answered.
func TestMemory(t *testing.T) {
	const clients, lasting = 128, 20 * time.Second
	seed := figures.Seed(t)
	f := figures.New(t, "memory", fmt.Sprintf("bodies of 1 MiB made of the smallest values, from %d clients at once", clients), seed)
	r := rig.Start(t, rig.Options{Seed: seed})
	s := r.Serve(rig.PatientRedis)
	c, other := s.By(r.Workspace(rig.Unlimited, "Memory")), s.By(r.Workspace(rig.Unlimited, "Other"))
	ids, err := must(t, c, "POST", "/data/projects/search", object{"limit": 1}).IDs()
	rig.Check(t, err)
	expensiveBodies := expensiveBodiesWith(ids[0])
	idle, err := resident(s.PID())
	rig.Check(t, err)

	ctx, stop := context.WithTimeout(t.Context(), lasting)
	defer stop()
	var all sync.WaitGroup
	var sent, refused, shed, wrong, most atomic.Int64
	for i := range clients {
		all.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				b := expensiveBodies[n%len(expensiveBodies)]
				a, err := c.Do(context.WithoutCancel(ctx), "POST", b.path, b.body)
				sent.Add(1)
				switch {
				case err != nil:
					wrong.Add(1)
					t.Errorf("%s: %v", b.what, err)
				case a.Status == 503:
					shed.Add(1)
				case a.Status == 400:
					refused.Add(1)
				case a.Status != 200:
					wrong.Add(1)
					t.Errorf("%s: %d %.300s", b.what, a.Status, a.Raw)
				}
			}
		})
	}
	all.Go(func() {
		for ctx.Err() == nil {
			now, err := resident(s.PID())
			if err != nil {
				t.Error(err)
				return
			}
			most.Store(max(most.Load(), now))
			time.Sleep(20 * time.Millisecond) // sampling interval
		}
	})
	took, failed := healthy(t, other, []request{{&grammar{dataset: "projects"}, object{"limit": 5}}}, lasting)
	all.Wait()
	f.AtLeast("bodies sent", float64(sent.Load()), 2*clients, "")
	f.Report("refused as invalid", float64(refused.Load()), "")
	f.Report("refused with 503", float64(shed.Load()), "")
	f.Exactly("answered otherwise than with 200, 400 and 503", float64(wrong.Load()), 0, "")
	f.Report("resident memory before", float64(idle>>20), "MB")
	f.AtMost("resident memory at most", float64(most.Load()>>20), 1024, "MB")
	f.Report("ordinary searches meanwhile", float64(len(took)), "")
	f.Report("ordinary searches meanwhile: p99", figures.Percentile(took, 99), "ms")
	f.Exactly("ordinary searches that failed", float64(failed), 0, "")
}

// expensiveBody takes much more memory decoded than encoded.
type expensiveBody struct{ what, path, body string }

// expensiveBodiesWith returns such bodies. One of the hundred items of a batch is
// valid, so that the body stays in memory during a database call.
func expensiveBodiesWith(project string) (all []expensiveBody) {
	const most = 1<<20 - 4_000
	fill := func(what, item string) {
		one := `{"project_id":"` + project + `","notes":"x"}`
		list := strings.TrimSuffix(strings.Repeat(item+",", most/99/(len(item)+1)), ",")
		items := strings.Repeat(`{"x":[`+list+`]},`, 99) + one
		all = append(all, expensiveBody{what, "/workspace/projects/upsert/batch", `{"inputs":[` + items + `]}`})
		list = strings.TrimSuffix(strings.Repeat(item+",", most/(len(item)+1)), ",")
		all = append(all, expensiveBody{what + ", in a search", "/data/projects/search", `{"filters":{"name":{"value":[` + list + `]}}}`})
	}
	fill("arrays", `[]`)
	fill("objects", `{}`)
	fill("members", `{"a":1}`)
	fill("numbers", `1`)
	fill("nested", `[[[[[[[[[[]]]]]]]]]]`)
	return all
}
