package credits

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// KeysOf is the pattern of all keys of a workspace: its credits and stored answers.
func KeysOf(prefix, workspace string) string { return prefix + "{" + workspace + "}*" }

// Open returns a client with the settings that the ledger needs. It does not connect
// yet. addresses is one URL, or several separated by commas:
//
//	redis://[user:password@]host[:port][/database]   (rediss:// for TLS)
//
// One URL is a server. Several URLs are the seeds of a Redis Cluster or, with
// `master_name`, the Sentinels that know the master. One URL with `cluster=true` is the
// seed of a Cluster, one with `master_name` is a Sentinel. User, password and database of
// the first URL apply to all servers, TLS to all servers and Sentinels. Query parameters
// of the first URL:
//
//	cluster=true        a Cluster behind one address
//	master_name=NAME    the addresses are Sentinels (default port 26379)
//	sentinel_username=, sentinel_password=   log in to the Sentinels
//	pool_size=N         connections per server, default 10 per CPU
//	ca=FILE             PEM file of the authority of the certificates; default: the system's
//
// Errors never contain the addresses, which may have a password.
func Open(addresses string) (redis.UniversalClient, error) {
	options := &redis.UniversalOptions{
		// The ledger repeats calls itself, within its own timeout.
		MaxRetries:            -1,
		DialerRetries:         1,
		ContextTimeoutEnabled: true,
		// Dialling may take longer than one call; the next call uses the connection.
		DialTimeout: time.Second,
		// Upper limits; each call has its own deadline, Options.Timeout.
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
			// Each server has a certificate for its own name.
			options.TLSConfig.ServerName = ""
		}
		if file := address.Query().Get("ca"); file != "" {
			if err := trust(options.TLSConfig, file); err != nil {
				return nil, fmt.Errorf("redis address 1: parameter \"ca\": %w", err)
			}
		}
	}
	options.IsClusterMode = options.IsClusterMode || len(options.Addrs) > 1 && options.MasterName == ""
	if options.IsClusterMode && options.DB != 0 {
		return nil, errors.New("redis address 1: a Cluster has no numbered databases")
	}
	return redis.NewUniversalClient(options), nil
}

// parseAddress returns the login options of one URL, and the parsed URL.
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

// trust makes the authorities of a PEM file the only ones that sign certificates of servers.
func trust(config *tls.Config, file string) error {
	if config == nil {
		return errors.New("needs rediss://")
	}
	text, err := os.ReadFile(file) // #nosec G304 -- the operator names the file
	if err != nil {
		return errors.New("the file cannot be read") // the path may be a misplaced password
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(text) {
		return errors.New("the file has no certificate in PEM")
	}
	return nil
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
		case "ca":
			if value == "" {
				err = strconv.ErrSyntax
			}
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

// unavailableReplies are the codes (first words) of error replies that mean that this Redis
// cannot serve any call now.
var unavailableReplies = []string{
	"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS",
	"MISCONF", "OOM", "BUSY", "NOAUTH", "WRONGPASS", "NOPERM",
}

// isUnavailable reports whether an error means that Redis is unavailable or too slow,
// rather than being an error reply to this one call.
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

// isTimeout reports whether a call timed out rather than failed at once.
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
