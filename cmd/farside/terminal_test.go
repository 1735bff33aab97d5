package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/rdmasim"
)

// terminal is a pseudo-terminal: what is written to the second can be read from the first.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// A person gets a dump instead of bytes, a bar while it takes long, and a list that is redrawn.
func TestTerminal(t *testing.T) {
	d := newDevice(t, 1<<20, rdmasim.AccessAll, "")
	for _, test := range []struct {
		args []string
		want []string
		ends bool // without an interrupt
	}{
		{[]string{"read", d.at(0), "4"}, []string{d.at(0)[2:] + "  00 07 0e 15 "}, true},
		{[]string{"ping", d.at(0), "--time", "1ms"}, []string{"ping ", "median"}, true},
		{[]string{"regions", "--watch"}, []string{"\x1b[H\x1b[2J", d.at(0), "\x1b[H\x1b[2J"}, false},
	} {
		master, slave := terminal(t)
		cmd := exec.Command(built, test.args...)
		cmd.Stdout, cmd.Stderr = slave, slave
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		slave.Close()
		var seen strings.Builder
		b := make([]byte, 4096)
		missing := test.want
		for rest := ""; len(missing) > 0; {
			if _, after, found := strings.Cut(rest, missing[0]); found {
				rest, missing = after, missing[1:]
				continue
			}
			n, err := master.Read(b)
			if err != nil { // EIO once the tool has ended
				break
			}
			seen.Write(b[:n])
			rest += string(b[:n])
		}
		if len(missing) > 0 {
			t.Errorf("%q: no %q in %q", test.args, missing, seen.String())
		}
		if !test.ends {
			cmd.Process.Signal(os.Interrupt)
		}
		go func() { // an end that waits for somebody to read
			for err := error(nil); err == nil; {
				_, err = master.Read(b)
			}
		}()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%q: %v", test.args, err)
		}
	}
}

// A transfer that takes long shows how far it is.
func TestProgress(t *testing.T) {
	d := newDevice(t, 1<<20, rdmasim.AccessAll, "")
	master, slave := terminal(t)
	in, slow, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	cmd := exec.Command(built, "write", d.at(0))
	cmd.Stdin, cmd.Stderr = in, slave
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	slave.Close()
	shown, all := make(chan bool), make(chan string, 1)
	go func() {
		var text []byte
		for b := make([]byte, 4096); ; {
			n, err := master.Read(b)
			if err != nil {
				all <- string(text)
				return
			}
			if text = append(text, b[:n]...); len(text) == n {
				close(shown)
			}
		}
	}()
	sent := 0
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		select {
		case <-tick.C:
			if _, err := slow.Write([]byte{0xab}); err != nil {
				t.Fatal(err)
			}
			sent++
			continue
		case <-shown:
			tick.Stop()
			slow.Close()
		}
		break
	}
	text := <-all
	if err := cmd.Wait(); err != nil || !strings.Contains(text, "write") || !strings.Contains(text, " B/s") {
		t.Errorf("%v: %q", err, text)
	}
	if !bytes.Equal(d.get(0, sent), bytes.Repeat([]byte{0xab}, sent)) {
		t.Errorf("other bytes than the %d", sent)
	}
}
