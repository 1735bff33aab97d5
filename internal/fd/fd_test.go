package fd_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/fd/fdtest"
)

const childVariable = "FARSIDE_FD_TEST_CHILD"

// TestMain becomes the process without descriptors 0 to 2 when it is told so.
func TestMain(m *testing.M) {
	if report := os.Getenv(childVariable); report != "" {
		text := "fine"
		if err := withoutStandard(); err != nil {
			text = err.Error()
		}
		if os.WriteFile(report, []byte(text), 0o600) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func open(t *testing.T) *fd.FD {
	t.Helper()
	f, err := fd.Open("/dev/null", unix.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func isOpen(raw int) bool {
	_, err := unix.FcntlInt(uintptr(raw), unix.F_GETFD, 0)
	return err == nil
}

func TestCloseIsOnce(t *testing.T) {
	fdtest.NoLeaks(t)
	f := open(t)
	raw := f.Int()
	if err := f.Close(); err != nil || isOpen(raw) {
		t.Fatalf("%v, or still open", err)
	}
	other := open(t) // takes the number that has become free
	if other.Int() != raw {
		t.Fatalf("descriptor %d, want %d", other.Int(), raw)
	}
	if err := f.Close(); err != nil || !isOpen(raw) {
		t.Errorf("the second Close closed somebody else's descriptor, or failed: %v", err)
	}
	if f.Int() != -1 || f.Disown() != -1 {
		t.Error("a closed FD has a descriptor")
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	var none *fd.FD
	if none.Int() != -1 || none.Disown() != -1 || none.Close() != nil {
		t.Error("a nil FD has a descriptor")
	}
}

// TestCloseFromManyGoroutines closes and disowns at once: exactly one gets the descriptor.
func TestCloseFromManyGoroutines(t *testing.T) {
	fdtest.NoLeaks(t)
	for range 200 {
		f := open(t)
		raw := f.Int()
		var got atomic.Int32
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if n := f.Disown(); n >= 0 {
					got.Add(1)
				}
			})
		}
		wg.Wait()
		if got.Load() != 1 || !isOpen(raw) {
			t.Fatalf("%d owners of one descriptor", got.Load())
		}
		unix.Close(raw)
	}
}

func TestDupAndReopen(t *testing.T) {
	fdtest.NoLeaks(t)
	f, err := fd.Open(t.TempDir()+"/file", unix.O_RDWR|unix.O_CREAT, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := unix.Write(f.Int(), []byte("hello")); err != nil {
		t.Fatal(err)
	}
	offset := func(raw int) int64 {
		at, err := unix.Seek(raw, 0, unix.SEEK_CUR)
		if err != nil {
			t.Fatal(err)
		}
		flags, err := unix.FcntlInt(uintptr(raw), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("descriptor %d is not close-on-exec (%#x, %v)", raw, flags, err)
		}
		return at
	}
	dup, err := f.Dup()
	if err != nil {
		t.Fatal(err)
	}
	defer dup.Close()
	exported, err := f.Export()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(exported)
	again, err := f.Reopen(unix.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if d, e, r := offset(dup.Int()), offset(exported), offset(again.Int()); d != 5 || e != 5 || r != 0 {
		t.Errorf("offsets %d, %d and %d: duplicates share one, a new description has its own", d, e, r)
	}
	if _, err := unix.Write(again.Int(), []byte("x")); !errors.Is(err, unix.EBADF) {
		t.Errorf("a write to a read-only descriptor: %v", err)
	}
	if _, err := fd.Reopen(-1, unix.O_RDONLY); !errors.Is(err, unix.ENOENT) {
		t.Errorf("reopening -1: %v", err)
	}
}

// TestOutOfDescriptors takes the last descriptors away: every function fails with EMFILE and leaves nothing open.
func TestOutOfDescriptors(t *testing.T) {
	fdtest.NoLeaks(t)
	f := open(t)
	defer f.Close()
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	errs := map[string]error{}
	_, errs["Dup"] = f.Dup()
	_, errs["Export"] = f.Export()
	_, errs["Reopen"] = f.Reopen(unix.O_RDWR)
	_, errs["Open"] = fd.Open("/dev/null", unix.O_RDWR, 0)
	_, _, errs["Pipe"] = fd.Pipe(0)
	_, errs["Own"] = fd.Own(1)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	for name, err := range errs {
		if !errors.Is(err, unix.EMFILE) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !isOpen(1) {
		t.Error("a failed Own closed the caller's descriptor")
	}
}

// TestStandardDescriptorsStayFree (attacks 8): a process that has closed 0 to 2 gets none of ours there.
func TestStandardDescriptorsStayFree(t *testing.T) {
	report := t.TempDir() + "/report"
	child := exec.Command("/proc/self/exe")
	child.Env = append(os.Environ(), childVariable+"="+report)
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(report); err != nil || string(text) != "fine" {
		t.Errorf("%s (%v)", text, err)
	}
}

func withoutStandard() error {
	for raw := range 3 {
		unix.Close(raw)
	}
	free := func(after string) error {
		for raw := range 3 {
			if isOpen(raw) {
				return errors.New(after + " took a standard descriptor")
			}
		}
		return nil
	}
	f, err := fd.Open("/dev/null", unix.O_RDWR, 0)
	if err = errors.Join(err, free("Open")); err != nil {
		return err
	}
	dup, err := f.Dup()
	if err = errors.Join(err, free("Dup")); err != nil {
		return err
	}
	again, err := f.Reopen(unix.O_RDONLY)
	if err = errors.Join(err, free("Reopen")); err != nil {
		return err
	}
	exported, err := f.Export()
	if err = errors.Join(err, free("Export")); err != nil {
		return err
	}
	read, write, err := fd.Pipe(0)
	if err = errors.Join(err, free("Pipe")); err != nil {
		return err
	}
	bell, err := fd.Fresh(unix.Eventfd(0, unix.EFD_CLOEXEC))
	if err = errors.Join(err, free("Fresh")); err != nil {
		return err
	}
	for _, f := range []*fd.FD{f, dup, again, read, write, bell} {
		if f.Int() < 3 {
			return errors.New("an FD below 3")
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return unix.Close(exported)
}

// recorder is a test whose failures are looked at.
type recorder struct {
	testing.TB
	cleanup []func()
	errors  []string
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanup = append(r.cleanup, f) }
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, format)
	for _, a := range args {
		if s, ok := a.(interface{ String() string }); ok {
			r.errors = append(r.errors, s.String())
		}
	}
}

func TestLeaksAreTraced(t *testing.T) {
	r := &recorder{TB: t}
	fdtest.NoLeaks(r)
	leak := open(t)
	kept := open(t)
	kept.Close()
	for _, f := range r.cleanup {
		f()
	}
	text := strings.Join(r.errors, "\n")
	if strings.Count(text, "still open") != 1 || !strings.Contains(text, "TestLeaksAreTraced") {
		t.Errorf("the leak was reported as:\n%s", text)
	}
	leak.Close()
}

func BenchmarkExport(b *testing.B) {
	f, err := fd.Open("/dev/null", unix.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	b.ReportAllocs()
	for b.Loop() {
		raw, err := f.Export()
		if err != nil {
			b.Fatal(err)
		}
		unix.Close(raw)
	}
}

// A closed FD has no descriptor to give, in whatever way it is asked.
func TestClosedHasNone(t *testing.T) {
	f := open(t)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]*fd.FD{"closed": f, "nil": nil} {
		if raw, err := f.Export(); raw != -1 || !errors.Is(err, unix.EBADF) {
			t.Errorf("%s: Export = %d, %v", name, raw, err)
		}
		if d, err := f.Dup(); d != nil || !errors.Is(err, unix.EBADF) {
			t.Errorf("%s: Dup = %v, %v", name, d, err)
		}
		if f.Int() != -1 || f.Disown() != -1 || f.Close() != nil {
			t.Errorf("%s: it has a descriptor", name)
		}
	}
}

// ReadFile reads to the end, in as many steps as it takes.
func TestReadFile(t *testing.T) {
	fdtest.NoLeaks(t)
	name := filepath.Join(t.TempDir(), "file")
	for _, size := range []int{0, 1, 511, 512, 513, 5000} {
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(i * 7)
		}
		if err := os.WriteFile(name, want, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := fd.ReadFile(name); err != nil || string(got) != string(want) {
			t.Errorf("%d bytes of %d: %v", len(got), size, err)
		}
	}
	if _, err := fd.ReadFile(name + "x"); !errors.Is(err, unix.ENOENT) {
		t.Errorf("a file that does not exist: %v", err)
	}
	if _, err := fd.ReadFile(filepath.Dir(name)); !errors.Is(err, unix.EISDIR) {
		t.Errorf("a directory: %v", err)
	}
}

// TestReadRegular reads files up to a bound, and nothing that isn't a file.
func TestReadRegular(t *testing.T) {
	dir := t.TempDir()
	name, fifo := filepath.Join(dir, "file"), filepath.Join(dir, "fifo")
	if err := errors.Join(os.WriteFile(name, make([]byte, 5000), 0o600), unix.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	if b, err := fd.ReadRegular(name, 5000); err != nil || len(b) != 5000 {
		t.Errorf("%d bytes of 5000: %v", len(b), err)
	}
	if _, err := fd.ReadRegular(name, 4999); err == nil {
		t.Error("a file beyond the bound was read")
	}
	for _, other := range []string{fifo, dir, "/dev/zero"} {
		if _, err := fd.ReadRegular(other, 5000); err == nil {
			t.Errorf("%s was read", other)
		}
	}
	const sizeless = "/proc/version" // says that it has no bytes
	want, err := os.ReadFile(sizeless)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := fd.ReadRegular(sizeless, 1<<20); err != nil || string(b) != string(want) {
		t.Errorf("%q of %q, %v", b, want, err)
	}
}
