package devstack

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"atlas/internal/timer"
)

// machine runs servers as processes of this machine. Each has a folder below
// data, a log in the state folder and its own process group, so that Ctrl-C in
// a terminal reaches only the starter, which stops the servers in order.
type machine struct {
	opts Options
	// account runs the servers; nil is the caller. Two of the servers refuse
	// root.
	account *account
	data    string
	starter *starter

	mu      sync.Mutex // guards the fields below
	state   state
	running []*process
	held    []*heldPort
	logged  bool // the log says where the data is
}

// openMachine stops the leftovers of an earlier run, and removes its data if
// requested. It starts nothing.
func openMachine(ctx context.Context, opts Options) (*machine, error) {
	m := &machine{opts: opts, state: readState(opts.Dir)}
	var err error
	if m.account, err = unprivileged(); err != nil {
		return nil, err
	}
	m.data = m.dataFolder()
	if err := m.stopLeftovers(ctx); err != nil {
		return nil, err
	}
	if opts.Fresh || opts.Ephemeral {
		if err := m.removeData(); err != nil {
			return nil, err
		}
	}
	m.starter = newStarter()
	return m, nil
}

// dataFolder is below the state folder, unless the account may not enter that,
// as with the folders of root.
func (m *machine) dataFolder() string {
	if canEnter(m.opts.Dir, m.account) {
		return filepath.Join(m.opts.Dir, "data")
	}
	sum := sha256.Sum256([]byte(m.opts.Dir))
	return "/var/tmp/atlas-" + hex.EncodeToString(sum[:8])
}

// stop ends all servers in parallel and removes their records.
func (m *machine) stop(ctx context.Context) error {
	m.mu.Lock()
	running := m.running
	m.running = nil
	m.letGo("")
	m.mu.Unlock()

	errs := make([]error, len(running))
	var wg sync.WaitGroup
	for i, p := range running {
		wg.Go(func() { errs[i] = p.end(ctx) })
	}
	wg.Wait()
	m.starter.close()

	m.mu.Lock()
	defer m.mu.Unlock()
	m.state.Processes = nil
	errs = append(errs, m.state.write(m.opts.Dir))
	if m.opts.Ephemeral {
		errs = append(errs, m.removeData())
	}
	return errors.Join(errs...)
}

func (m *machine) removeData() error {
	if err := m.checkData(); err != nil {
		return err
	}
	if err := os.RemoveAll(m.data); err != nil {
		return fmt.Errorf("remove the earlier data: %w", err)
	}
	return nil
}

// checkData refuses a data folder of another owner: outside the state folder,
// any user may have created it.
func (m *machine) checkData() error {
	info, err := os.Lstat(m.data)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || ok && int(owner.Uid) != os.Geteuid() {
		return fmt.Errorf("%s is not a folder of this user: remove it, or use another state folder", m.data)
	}
	return nil
}

// home creates the folder of a server, owned by the account.
func (m *machine) home(kind string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.logged && filepath.Dir(m.data) != m.opts.Dir {
		m.opts.Log("user %s, who runs the servers, may not enter %s: the data is in %s", m.account.name, m.opts.Dir, m.data)
	}
	m.logged = true
	if err := m.checkData(); err != nil {
		return "", err
	}
	if err := makeDir(m.data); err != nil {
		return "", err
	}
	home := filepath.Join(m.data, kind)
	if err := os.Mkdir(home, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return home, m.own(home)
}

// own changes the owner of a folder and its content to the account. An earlier
// run may have had another one.
func (m *machine) own(dir string) error {
	if m.account == nil {
		return nil
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid == m.account.uid {
		return nil
	}
	var dirs []string
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			dirs = append(dirs, path)
			return nil
		}
		return os.Lchown(path, int(m.account.uid), int(m.account.gid)) // #nosec G122 -- nobody else writes to the folder of a server that does not run
	})
	if err != nil {
		return err
	}
	// The folder itself comes last: its owner shows that the change is complete.
	for i := len(dirs) - 1; i >= 0; i-- {
		if err := os.Lchown(dirs[i], int(m.account.uid), int(m.account.gid)); err != nil {
			return err
		}
	}
	return nil
}

// server is how to start and probe a server.
type server struct {
	kind string
	// stopSignal stops it gracefully, even with connected clients.
	stopSignal syscall.Signal
	home       string
	command    func(port int) *exec.Cmd
	// probe returns nil when the server accepts work. It bounds its own
	// duration.
	probe func(ctx context.Context, port int) error
	// within bounds the start; 0 means readyWithin.
	within time.Duration
}

// serve starts a server on a free port and waits until it answers. It retries
// when another process has taken the port meanwhile.
func (m *machine) serve(ctx context.Context, s server) (port int, err error) {
	m.mu.Lock()
	m.letGo(s.kind)
	m.mu.Unlock()
	for attempt := 1; ; attempt++ {
		port = m.choosePort(s.kind)
		p, err := m.launch(s, port)
		if err != nil {
			return 0, err
		}
		if err = p.ready(ctx, cmp.Or(s.within, readyWithin), func(ctx context.Context) error { return s.probe(ctx, port) }); err == nil {
			return port, nil
		}
		if !p.gone() || portFree(port) || attempt == 3 {
			return 0, err // Stop ends what is still running
		}
	}
}

// launch starts the process and records it. It inherits no environment: a
// caller's PGDATA or JAVA_TOOL_OPTIONS would change it.
func (m *machine) launch(s server, port int) (*process, error) {
	logs := filepath.Join(m.opts.Dir, "logs")
	if err := makeDir(logs); err != nil {
		return nil, err
	}
	logPath := filepath.Join(logs, s.kind+".log")
	// Preserve the previous log, because it shows why the earlier run ended.
	if err := os.Rename(logPath, logPath+".old"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	out, err := os.Create(logPath) // #nosec G304 -- a file of the state folder
	if err != nil {
		return nil, err
	}
	defer out.Close()

	cmd := s.command(port)
	m.confine(cmd, s.home)
	cmd.Env = append(cmd.Env, m.opts.Env[Backend(s.kind)]...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr.Setpgid = true
	if !m.opts.outlive {
		dieWithParent(cmd.SysProcAttr, s.stopSignal)
	}

	// Start and record under one lock, so that stop sees both or neither.
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.starter.start(cmd); err != nil {
		return nil, err
	}
	record := processRecord{Kind: s.kind, PID: cmd.Process.Pid, Port: port, Home: s.home}
	record.Started, _ = startTime(record.PID)
	p := &process{record: record, stopSignal: s.stopSignal, log: logPath, exited: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()
	m.running = append(m.running, p)

	if boot := bootID(); m.state.Boot != boot {
		m.state.Boot, m.state.Processes = boot, nil
	}
	m.state.Ports[s.kind] = port
	m.state.Processes = append(m.state.Processes, record)
	if err := m.state.write(m.opts.Dir); err != nil {
		return nil, fmt.Errorf("record the process: %w", err)
	}
	return p, nil
}

// confine runs cmd as the account, in home, with a minimal environment in
// addition to cmd.Env.
func (m *machine) confine(cmd *exec.Cmd, home string) {
	cmd.Dir = home
	cmd.Env = append(cmd.Env, "PATH="+os.Getenv("PATH"), "HOME="+home, "LANG=C.UTF-8", "TZ=UTC")
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if m.account != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: m.account.uid, Gid: m.account.gid}
	}
}

// choosePort returns the port of the previous run if it is free, otherwise a
// free port below the ephemeral range.
func (m *machine) choosePort(kind string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	port := m.state.Ports[kind]
	for try := 0; port == 0 || !portFree(port); try++ {
		if port = 20000 + rand.IntN(12000); try > 1000 { // #nosec G404 -- a port that is free, not a secret
			break // the bind will report the problem
		}
		for other, taken := range m.state.Ports {
			if other != kind && taken == port {
				port = 0
			}
		}
	}
	m.state.Ports[kind] = port
	return port
}

// reservePorts reserves the ports of a server that has ended and will be restarted at its
// address. It waits until they are free: the threads of a killed JVM may still be ending
// when its process counts as ended.
func (m *machine) reservePorts(kind string) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	for _, of := range []string{kind, kind + transport} {
		m.mu.Lock()
		port, ok := m.state.Ports[of]
		m.mu.Unlock()
		if !ok {
			continue
		}
		held, err := holdPort(port)
		for errors.Is(err, syscall.EADDRINUSE) && timer.Sleep(ctx, 20*time.Millisecond) == nil {
			held, err = holdPort(port)
		}
		if err != nil {
			return fmt.Errorf("devstack: keep the port of %s: %w", of, err)
		}
		held.kind = kind
		m.mu.Lock()
		m.held = append(m.held, held)
		m.mu.Unlock()
	}
	return nil
}

// letGo ends reservePorts, for all kinds if kind is "". The caller holds mu.
func (m *machine) letGo(kind string) {
	m.held = slices.DeleteFunc(m.held, func(h *heldPort) bool {
		ours := kind == "" || h.kind == kind
		if ours {
			h.letGo()
		}
		return ours
	})
}

// transport is the suffix of a kind's second port, between nodes of Elasticsearch.
const transport = "-transport"

func portFree(port int) bool {
	l, err := net.Listen("tcp", loopback(port))
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// process is a started server.
type process struct {
	record     processRecord
	stopSignal syscall.Signal
	log        string
	exited     chan struct{} // closed after err is set
	err        error
}

func (p *process) gone() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// ready polls the probe until it succeeds, the process ends or the time is
// over. Errors include the end of the server's log.
func (p *process) ready(ctx context.Context, within time.Duration, probe func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("does not answer after %s", within))
	defer cancel()
	for {
		err := probe(ctx)
		if p.gone() {
			return fmt.Errorf("ended while starting (%v)%s", p.err, p.logTail())
		}
		if err == nil {
			return nil
		}
		if cause := timer.Sleep(ctx, 100*time.Millisecond); errors.Is(cause, context.Canceled) {
			return cause
		} else if cause != nil {
			return fmt.Errorf("%w: %w%s", cause, err, p.logTail())
		}
	}
}

// logTail returns the end of the server's log as a suffix of an error.
func (p *process) logTail() string {
	const lines, most = 20, 16 << 10
	b, err := os.ReadFile(p.log)
	if err != nil {
		return ""
	}
	b = b[max(0, len(b)-most):]
	all := strings.Split(string(bytes.TrimSpace(b)), "\n")
	all = all[max(0, len(all)-lines):]
	return fmt.Sprintf("; the end of %s:\n    %s", p.log, strings.Join(all, "\n    "))
}

// end stops the process, after stopWithin with SIGKILL, and kills its process
// group.
func (p *process) end(ctx context.Context) error {
	if p.gone() {
		return killGroup(p.record)
	}
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	// It may have ended already.
	_ = syscall.Kill(p.record.PID, p.stopSignal)
	select {
	case <-p.exited:
		return killGroup(p.record)
	case <-ctx.Done():
		err := killGroup(p.record)
		<-p.exited
		return errors.Join(fmt.Errorf("%s did not stop in time and was killed", p.record.Kind), err)
	}
}

// stopLeftovers ends the processes that a killed starter left running.
func (m *machine) stopLeftovers(ctx context.Context) error {
	records := m.state.Processes
	if m.state.Boot != bootID() {
		records = nil // they ended with that boot
	}
	records = append(records, m.orphanPostgres()...)
	errs := make([]error, len(records))
	var wg sync.WaitGroup
	for i, r := range records {
		wg.Go(func() { errs[i] = m.stopLeftover(ctx, r) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	m.state.Processes = nil
	return nil
}

func (m *machine) stopLeftover(ctx context.Context, r processRecord) error {
	alive := func() bool {
		started, ok := startTime(r.PID)
		return ok && started == r.Started
	}
	if alive() {
		m.opts.Log("stopping %s (process %d), left behind by an earlier run", r.Kind, r.PID)
		signal := syscall.SIGTERM
		if strings.HasPrefix(r.Kind, string(Postgres)) {
			signal = postgresStop
		}
		if err := syscall.Kill(r.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stop %s (process %d), left behind by an earlier run: %w", r.Kind, r.PID, err)
		}
	}
	// Children get the same time: they end when they notice the end of their
	// parent.
	bounded, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	for alive() || len(groupMembers(r)) > 0 {
		if timer.Sleep(bounded, 50*time.Millisecond) != nil {
			if err := ctx.Err(); err != nil {
				return err
			}
			return killGroup(r)
		}
	}
	return nil
}
