package permits

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// Sizes of a pipeline. They bound what one side has made and the other has not used yet.
const (
	batchSize = 128
	batches   = 8
)

// pipeline runs a producer and a consumer in two goroutines and preserves the order.
func pipeline[T any](ctx context.Context, produce func(ctx context.Context, emit func(T) error) error, use func(T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	ready := make(chan []T, batches)
	group.Go(func() error {
		defer close(ready)
		batch := make([]T, 0, batchSize)
		send := func() error {
			select {
			case ready <- batch:
				batch = make([]T, 0, batchSize)
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		err := produce(ctx, func(v T) error {
			if batch = append(batch, v); len(batch) == batchSize {
				return send()
			}
			return nil
		})
		if err == nil && len(batch) > 0 {
			err = send()
		}
		return err
	})
	group.Go(func() error {
		for batch := range ready {
			for _, v := range batch {
				if err := use(v); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return group.Wait()
}
