package credits

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Open returns a client for the ledger's Redis, with the settings the ledger
// counts on; it does not connect yet. addresses is a URL or several separated
// by commas, which are then seeds of one Redis Cluster:
//
//	redis://[user:password@]host[:port][/database]   (rediss:// for TLS)
//
// Query parameters, of the first URL: `cluster=true` for a Cluster behind one
// address, `pool_size` for the connections per node (default 10 per CPU).
// User, password and database of the first URL hold for all. Errors never show
// the addresses, which may hold a password.
func Open(addresses string) (redis.UniversalClient, error) {
	options := &redis.UniversalOptions{
		// The ledger repeats calls itself, within its own time limits.
		MaxRetries:            -1,
		DialerRetries:         1,
		ContextTimeoutEnabled: true,
		// A connection may take longer than one call waits: the next uses it.
		DialTimeout: time.Second,
		// Bounds of last resort: each call brings its own, Options.Timeout.
		ReadTimeout:              10 * time.Second,
		WriteTimeout:             10 * time.Second,
		PoolTimeout:              time.Second,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	for i, part := range strings.Split(addresses, ",") {
		address, query, err := parseAddress(part)
		if err != nil {
			return nil, fmt.Errorf("redis address %d: %w", i+1, err)
		}
		options.Addrs = append(options.Addrs, address.Addr)
		if i > 0 {
			if len(query) > 0 {
				return nil, fmt.Errorf("redis address %d: query parameters belong to the first address", i+1)
			}
			continue
		}
		options.Username, options.Password = address.Username, address.Password
		options.DB, options.TLSConfig = address.DB, address.TLSConfig
		if err := setParameters(options, query); err != nil {
			return nil, fmt.Errorf("redis address %d: %w", i+1, err)
		}
	}
	if len(options.Addrs) > 1 {
		options.IsClusterMode = true
	}
	if options.IsClusterMode && options.DB != 0 {
		return nil, errors.New("redis address: a Cluster has no numbered databases")
	}
	return redis.NewUniversalClient(options), nil
}

func parseAddress(text string) (*redis.Options, url.Values, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		// url.Error would quote the whole address.
		return nil, nil, errors.New("not a URL")
	}
	if u.Scheme != "redis" && u.Scheme != "rediss" {
		return nil, nil, errors.New("must begin with redis:// or rediss://")
	}
	query := u.Query()
	u.RawQuery = ""
	options, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, nil, errors.New("the path may only be a database number")
	}
	return options, query, nil
}

func setParameters(options *redis.UniversalOptions, query url.Values) error {
	for name, values := range query {
		value := values[len(values)-1]
		var err error
		switch name {
		case "cluster":
			options.IsClusterMode, err = strconv.ParseBool(value)
		case "pool_size":
			options.PoolSize, err = strconv.Atoi(value)
			if options.PoolSize < 1 {
				err = strconv.ErrRange
			}
		default:
			return fmt.Errorf("unknown parameter %q", name)
		}
		if err != nil {
			return fmt.Errorf("parameter %q has a bad value", name)
		}
	}
	return nil
}

// awayReplies are the codes (first words) of error replies that say that this
// Redis cannot serve now, whatever is asked of it.
var awayReplies = []string{
	"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS",
	"MISCONF", "OOM", "BUSY", "NOAUTH", "WRONGPASS", "NOPERM",
}

// isAway tells an error that is Redis being away, slow or unwilling from a
// reply that says something about this one call.
func isAway(err error) bool {
	if _, ok := errors.AsType[redis.Error](err); !ok {
		return true // no reply at all
	}
	if redis.IsMaxClientsError(err) {
		return true
	}
	return slices.ContainsFunc(awayReplies, func(code string) bool {
		return redis.HasErrorPrefix(err, code)
	})
}

// isSlow reports whether a call ran out of its time, rather than failing at
// once.
func isSlow(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && t.Timeout()
}
