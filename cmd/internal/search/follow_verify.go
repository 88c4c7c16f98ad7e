package search

import (
	"context"
	"fmt"
	"time"

	"atlas/client"
	"atlas/cmd/internal/cli"
)

// differentError says how a copy differs from the data, after a wait for changes.
type differentError struct {
	missing, extra, different int
	waited                    time.Duration
}

func (e *differentError) Error() string {
	return fmt.Sprintf("missing %s, extra %s, different %s", cli.Grouped(e.missing), cli.Grouped(e.extra), cli.Grouped(e.different))
}

// differences are the records in which a copy differs from the data.
type differences struct{ missing, extra, different map[recordID]bool }

func (d differences) len() int { return len(d.missing) + len(d.extra) + len(d.different) }

// published removes a record whose change has been published: the copy has it now.
func (d differences) published(id recordID) {
	delete(d.missing, id)
	delete(d.extra, id)
	delete(d.different, id)
}

// verify reads all records and compares them with the copy. It leaves out records whose
// change is published during the comparison or the wait: searches see the writes of a load
// or a delta before they are published. Errors: differentError.
func (f *following) verify(ctx context.Context) error {
	if err := f.agree(ctx); err != nil {
		return err
	}
	found, err := f.compare(ctx)
	if err != nil {
		return err
	}
	if err := f.follow(ctx, 0, found.published); err != nil {
		return err
	}
	if f.wait > 0 && found.len() > 0 {
		f.shown.note(fmt.Sprintf("%s rows differ; waiting up to %v for changes that a load or a delta has made and not published yet", cli.Grouped(found.len()), f.wait))
	}
	for until := time.Now().Add(f.wait); found.len() > 0; {
		left := time.Until(until).Truncate(time.Millisecond)
		if left <= 0 {
			break
		}
		if err := f.follow(ctx, min(left, changesWait), found.published); err != nil {
			return err
		}
	}
	if err := f.copy.write(ctx, nil, &f.state); err != nil { // stores the credits
		return err
	}
	if found.len() > 0 {
		return &differentError{len(found.missing), len(found.extra), len(found.different), f.wait}
	}
	return nil
}

// compare reads all records and compares them with the copy.
func (f *following) compare(ctx context.Context) (differences, error) {
	found := differences{map[recordID]bool{}, map[recordID]bool{}, map[recordID]bool{}}
	copied, err := f.copy.digests(ctx)
	if err != nil {
		return found, err
	}
	read := 0
	f.shown.begin(0)
	for cursor := ""; ; {
		page, err := f.search(ctx, target{source: &f.source.Source, each: 1, most: client.MaxPage}, f.request, cursor)
		if err != nil {
			return found, err
		}
		f.state.Credits += page.Credits
		for _, record := range page.Records {
			id, err := idOf(record)
			if err != nil {
				return found, err
			}
			is, err := digestOf(record)
			if err != nil {
				return found, err
			}
			if was, ok := copied[id]; !ok {
				found.missing[id] = true
			} else if was != is {
				found.different[id] = true
			}
			delete(copied, id)
		}
		read += len(page.Records)
		f.shown.page(read, f.spent, page.Window)
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	for id := range copied {
		found.extra[id] = true
	}
	return found, nil
}
