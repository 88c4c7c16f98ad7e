package credits

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
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
// by commas:
//
//	redis://[user:password@]host[:port][/database]   (rediss:// for TLS)
//
// One is a server. Several are seeds of one Redis Cluster or, with
// `master_name`, the Sentinels that know which server is the master; so is one
// with `cluster=true` or `master_name`. User, password and database of the first
// URL hold for all servers, TLS for all servers and Sentinels. Query parameters,
// of the first URL:
//
//	cluster=true        a Cluster behind one address
//	master_name=NAME    the addresses are Sentinels (default port 26379)
//	sentinel_username=, sentinel_password=   log in to the Sentinels
//	pool_size=N         connections per server, default 10 per CPU
//
// Errors never show the addresses, which may hold a password.
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
	port := "6379"
	for i, part := range strings.Split(addresses, ",") {
		login, address, err := parseAddress(part)
		if err == nil && i > 0 && address.RawQuery != "" {
			err = errors.New("query parameters belong to the first address")
		}
		if err == nil && i == 0 {
			err = setParameters(options, address.Query())
		}
		if err != nil {
			return nil, fmt.Errorf("redis address %d: %w", i+1, err)
		}
		if options.MasterName != "" {
			port = "26379"
		}
		options.Addrs = append(options.Addrs, net.JoinHostPort(cmp.Or(address.Hostname(), "localhost"), cmp.Or(address.Port(), port)))
		if i > 0 {
			continue
		}
		options.Username, options.Password, options.DB = login.Username, login.Password, login.DB
		if options.TLSConfig = login.TLSConfig; options.TLSConfig != nil {
			// Each server's certificate is for its own name, not for the first's.
			options.TLSConfig.ServerName = ""
		}
	}
	options.IsClusterMode = options.IsClusterMode || len(options.Addrs) > 1 && options.MasterName == ""
	if options.IsClusterMode && options.DB != 0 {
		return nil, errors.New("redis address 1: a Cluster has no numbered databases")
	}
	return redis.NewUniversalClient(options), nil
}

// parseAddress returns what one URL says of how to log in, and its parts.
func parseAddress(text string) (*redis.Options, *url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		// url.Error would quote the whole address.
		return nil, nil, errors.New("not a URL")
	}
	if u.Scheme != "redis" && u.Scheme != "rediss" {
		return nil, nil, errors.New("must begin with redis:// or rediss://")
	}
	bare := *u
	bare.RawQuery = ""
	login, err := redis.ParseURL(bare.String())
	if err != nil {
		return nil, nil, errors.New("the path may only be a database number")
	}
	return login, u, nil
}

func setParameters(options *redis.UniversalOptions, query url.Values) error {
	for name, values := range query {
		value := values[len(values)-1]
		var err error
		switch name {
		case "cluster":
			options.IsClusterMode, err = strconv.ParseBool(value)
		case "master_name":
			options.MasterName = value
			if value == "" {
				err = strconv.ErrSyntax
			}
		case "sentinel_username":
			options.SentinelUsername = value
		case "sentinel_password":
			options.SentinelPassword = value
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
	switch {
	case options.MasterName != "" && options.IsClusterMode:
		return errors.New("either cluster or master_name")
	case options.MasterName == "" && (options.SentinelUsername != "" || options.SentinelPassword != ""):
		return errors.New("a login for Sentinels needs master_name")
	}
	return nil
}

// unavailableReplies are the codes (first words) of error replies that say that this
// Redis cannot serve now, whatever is asked of it.
var unavailableReplies = []string{
	"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS",
	"MISCONF", "OOM", "BUSY", "NOAUTH", "WRONGPASS", "NOPERM",
}

// isUnavailable tells an error that is Redis being away, slow or unwilling from a
// reply that says something about this one call.
func isUnavailable(err error) bool {
	if _, ok := errors.AsType[redis.Error](err); !ok {
		return true // no reply at all
	}
	if redis.IsMaxClientsError(err) {
		return true
	}
	return slices.ContainsFunc(unavailableReplies, func(code string) bool {
		return redis.HasErrorPrefix(err, code)
	})
}

// isTimeout reports whether a call ran out of its time, rather than failing at
// once.
func isTimeout(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && t.Timeout()
}
