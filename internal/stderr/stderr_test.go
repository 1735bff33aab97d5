package stderr

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The tests change descriptor 2 of processes of their own, which run a role.
func TestMain(m *testing.M) {
	if role := os.Getenv("STDERR_ROLE"); role != "" {
		os.Exit(roles[role]())
	}
	os.Exit(m.Run())
}

const message = "farside: a message\n"

func write() int {
	if n, err := Writer.Write([]byte(message)); n != len(message) || err != nil {
		return 1
	}
	return 0
}

// roles write messages and give an exit status, 0 for as it should be.
var roles = map[string]func() int{
	"write": write,
	// The default action of SIGPIPE and SIGXFSZ is to end the process.
	"default": func() int {
		var action [32]byte // struct sigaction of the kernel: SIG_DFL, no flags
		for s := range unix.Signal(64) {
			if raised.Val[0]&(1<<s) != 0 {
				if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s+1), uintptr(unsafe.Pointer(&action)), 0,
					sigsetSize, 0, 0); errno != 0 {
					return 1
				}
			}
		}
		return write()
	},
	// A signal that was pending before the write is not ours to take.
	"pending": func() int {
		var old unix.Sigset_t
		if unix.PthreadSigmask(unix.SIG_BLOCK, &raised, &old) != nil {
			return 1
		}
		if unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGPIPE) != nil || write() != 0 {
			return 2
		}
		var set unix.Sigset_t
		if sigpending(&set) != nil || set.Val[0]&(1<<(unix.SIGPIPE-1)) == 0 {
			return 3
		}
		takeBack(&unix.Sigset_t{})
		if sigpending(&set) != nil || set.Val[0]&(1<<(unix.SIGPIPE-1)) != 0 {
			return 4
		}
		return 0
	},
	// The write leaves no signal behind, blocked or not.
	"clean": func() int {
		var old, set unix.Sigset_t
		if unix.PthreadSigmask(unix.SIG_BLOCK, &raised, &old) != nil || write() != 0 {
			return 1
		}
		if sigpending(&set) != nil || set.Val[0]&raised.Val[0] != 0 {
			return 2
		}
		return 0
	},
	"closed": func() int {
		_ = unix.Close(2)
		return write()
	},
	// The application closes descriptor 2 and opens its data.
	"reused": func() int {
		_ = unix.Close(2)
		if fd, err := unix.Open(os.Getenv("STDERR_FILE"), unix.O_RDWR, 0); fd != 2 || err != nil {
			return 1
		}
		return write()
	},
	"reused, then an instance": func() int {
		_ = unix.Close(2)
		if fd, err := unix.Open(os.Getenv("STDERR_FILE"), unix.O_RDWR, 0); fd != 2 || err != nil {
			return 1
		}
		Adopt()
		return write()
	},
	// It redirects its diagnostics, and then makes an instance.
	"redirected": func() int {
		fd, err := unix.Open(os.Getenv("STDERR_FILE"), unix.O_WRONLY|unix.O_APPEND, 0)
		if err != nil || unix.Dup3(fd, 2, 0) != nil {
			return 1
		}
		Adopt()
		return write()
	},
	// A payload became descriptor 2 before the instance was made.
	"payload": func() int {
		fd, err := unix.MemfdCreate("payload", unix.MFD_ALLOW_SEALING)
		if err != nil || unix.Ftruncate(fd, 4096) != nil || unix.Dup3(fd, 2, 0) != nil {
			return 1
		}
		if _, err := unix.FcntlInt(2, unix.F_ADD_SEALS, unix.F_SEAL_GROW); err != nil {
			return 2
		}
		adopted.Store(current()) // as when the library is loaded
		if write() != 0 {
			return 3
		}
		b := make([]byte, 4096)
		if _, err := unix.Pread(2, b, 0); err != nil || !bytes.Equal(b, make([]byte, 4096)) {
			return 4
		}
		return 0
	},
	// Many messages: the time is for one that waits.
	"many": func() int {
		begin := time.Now()
		for range 10000 {
			if write() != 0 {
				return 1
			}
		}
		if time.Since(begin) > 5*time.Second {
			return 2
		}
		return 0
	},
}

// run runs a role with stderr as descriptor 2, and fails unless it ends with status 0.
func run(t *testing.T, role string, stderr *os.File, env ...string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "STDERR_ROLE="+role), env...)
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) })
	defer timer.Stop()
	if err := cmd.Wait(); err != nil {
		t.Errorf("%s: %v", role, err)
	}
}

func pipe(t *testing.T) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = read.Close(), write.Close() })
	return read, write
}

func TestMessagesArrive(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	run(t, "write", file)
	if b, err := os.ReadFile(file.Name()); string(b) != message || err != nil {
		t.Errorf("a file got %q, %v", b, err)
	}
	read, write := pipe(t)
	run(t, "write", write)
	_ = write.Close()
	if b, err := io.ReadAll(read); string(b) != message || err != nil {
		t.Errorf("a pipe got %q, %v", b, err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	near, far := os.NewFile(uintptr(pair[0]), "near"), os.NewFile(uintptr(pair[1]), "far")
	defer near.Close()
	run(t, "write", far)
	_ = far.Close()
	if b, err := io.ReadAll(near); string(b) != message || err != nil {
		t.Errorf("a socket got %q, %v", b, err)
	}
}

// TestBrokenPipe has descriptor 2 be a pipe without a reader, with each way to take SIGPIPE.
func TestBrokenPipe(t *testing.T) {
	for _, role := range []string{"write", "default", "pending", "clean"} {
		read, write := pipe(t)
		_ = read.Close()
		run(t, role, write)
	}
	for _, role := range []string{"write", "default", "clean"} {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		_ = unix.Close(pair[0])
		far := os.NewFile(uintptr(pair[1]), "far")
		run(t, role, far)
		_ = far.Close()
	}
}

// TestFullPipe has nobody read: messages are dropped, and only the first one waits. What went in is whole.
func TestFullPipe(t *testing.T) {
	for _, nonblock := range []bool{false, true} {
		read, write := pipe(t)
		if err := unix.SetNonblock(int(write.Fd()), nonblock); err != nil {
			t.Fatal(err)
		}
		run(t, "many", write)
		_ = write.Close()
		b, err := io.ReadAll(read)
		if n := strings.Count(string(b), message); err != nil || n < 1000 || n == 10000 || n*len(message) != len(b) {
			t.Errorf("%d bytes hold %d messages, %v", len(b), n, err)
		}
	}
}

// TestSlowReader has somebody read slowly: no message is lost.
func TestSlowReader(t *testing.T) {
	read, write := pipe(t)
	size, err := unix.FcntlInt(write.Fd(), unix.F_SETPIPE_SZ, 4096)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan int)
	go func() {
		total := 0
		b := make([]byte, size)
		for {
			n, err := read.Read(b)
			total += n
			if err != nil {
				got <- total
				return
			}
			time.Sleep(2 * time.Millisecond)
		}
	}()
	run(t, "many", write)
	_ = write.Close()
	if n := <-got; n != 10000*len(message) {
		t.Errorf("%d bytes of %d arrived", n, 10000*len(message))
	}
}

// TestFileSizeLimit has descriptor 2 be a file that RLIMIT_FSIZE does not let grow.
func TestFileSizeLimit(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 0, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
			t.Fatal(err)
		}
	}()
	for _, role := range []string{"write", "default", "clean"} {
		run(t, role, file)
	}
}

// TestAnotherFile has descriptor 2 become another file than it was.
func TestAnotherFile(t *testing.T) {
	for role, want := range map[string]string{"closed": "data", "reused": "data", "reused, then an instance": "data",
		"redirected": "data" + message} {
		file := filepath.Join(t.TempDir(), "data")
		if err := os.WriteFile(file, []byte("data"), 0o600); err != nil {
			t.Fatal(err)
		}
		run(t, role, nil, "STDERR_FILE="+file)
		if b, err := os.ReadFile(file); string(b) != want || err != nil {
			t.Errorf("%s: the file holds %q, %v", role, b, err)
		}
	}
	run(t, "payload", nil)
}
