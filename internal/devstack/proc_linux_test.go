package devstack

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

// No other process can listen on the port of a server that has ended, and connections to it
// are refused; the server itself gets it back.
func TestPortOfAnEndedServerIsKept(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	open, err := net.Dial("tcp", loopback(port)) // still closes when the server has ended
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	served, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	served.Close()
	l.Close()
	m := &machine{state: state{Ports: map[string]int{"redis": port}}}
	if err := m.reservePorts("redis"); err != nil {
		t.Fatal(err)
	}
	if portFree(port) {
		t.Error("another process can listen on the port")
	}
	if c, err := net.Dial("tcp", loopback(port)); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a connection is not refused: %v, %v", c, err)
	}
	m.letGo("redis")
	if got := m.choosePort("redis"); got != port {
		t.Errorf("the server's port is %d now, was %d", got, port)
	}
}
