package export

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"farside/internal/fd/fdtest"
	"farside/internal/memfd"
	"farside/internal/vk"
	"farside/memory"
)

func TestImportOutlivesExporter(t *testing.T) {
	fdtest.NoLeaks(t)
	p := newSample(t)
	b, err := p.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	copy(b, "hello")
	fd, err := exportFD(p, opaque)
	if err != nil {
		t.Fatal(err)
	}
	id := p.ID()
	q, err := importFD(fd, opaque, expectSample())
	if err != nil {
		t.Fatal(err)
	}
	if q == p || q.ID() != id || q.Size() != sampleSize {
		t.Errorf("import has ID %#x and size %d", q.ID(), q.Size())
	}
	c, err := q.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	c[1] = 'a'
	if b[1] != 'a' {
		t.Error("the exporter does not see the importer's write")
	}
	p.Release()
	if string(c[:5]) != "hallo" {
		t.Errorf("%q after the exporter's end", c[:5])
	}
	q.Release()
	if isOpen(fd) {
		t.Error("the import does not own its descriptor")
	}
}

func TestImportWithoutDedicated(t *testing.T) {
	p := newSample(t)
	defer p.Release()
	fd, err := exportFD(p, opaque)
	if err != nil {
		t.Fatal(err)
	}
	want := expectSample()
	want.Dedicated = memory.Dedicated{}
	q, err := importFD(fd, opaque, want)
	if err != nil {
		unix.Close(fd)
		t.Fatal(err)
	}
	q.Release()
}

func TestImportRefuses(t *testing.T) {
	page := int64(memory.PageSize())
	whole := int64(memory.RoundUpToPage(sampleSize)) + page
	open := func(name string, flags int) func(*testing.T) int {
		return func(t *testing.T) int {
			fd, err := unix.Open(name, flags|unix.O_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			return fd
		}
	}
	file := func(size int64, seals int, change func(b []byte)) func(*testing.T) int {
		return func(t *testing.T) int { return forged(t, size, seals, change) }
	}
	reopened := func(flags int) func(*testing.T) int {
		return func(t *testing.T) int {
			fd := forged(t, whole, memfd.Seals, nil)
			defer unix.Close(fd)
			return open(fmt.Sprintf("/proc/self/fd/%d", fd), flags)(t)
		}
	}
	set := func(at int, v byte) func([]byte) { return func(b []byte) { b[at] ^= v } }
	for _, c := range []struct {
		name string
		fd   func(*testing.T) int
		vuid vk.VUID
		says string
	}{
		{"-1", func(*testing.T) int { return -1 }, vuidFDValid, "not open"},
		{"closed", func(t *testing.T) int { fd := open("/", unix.O_RDONLY)(t); unix.Close(fd); return fd },
			vuidFDValid, "not open"},
		{"directory", open("/", unix.O_RDONLY), vuidFDValid, "reading and writing"},
		{"path only", reopened(unix.O_PATH), vuidFDValid, "reading and writing"},
		{"/dev/null", open("/dev/null", unix.O_RDWR), vuidFDValid, "not a memfd"},
		{"pipe", func(t *testing.T) int {
			var p [2]int
			if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
			unix.Close(p[1])
			return p[0]
		}, vuidFDValid, "reading and writing"},
		{"socket", func(t *testing.T) int {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			return fd
		}, vuidFDValid, "not a memfd"},
		{"file on disk", func(t *testing.T) int {
			return open(t.TempDir()+"/file", unix.O_RDWR|unix.O_CREAT)(t)
		}, vuidFDValid, "seal"},
		{"read only", reopened(unix.O_RDONLY), vuidFDValid, "reading and writing"},
		{"write only", reopened(unix.O_WRONLY), vuidFDValid, "reading and writing"},
		{"unsealed", file(whole, 0, nil), vuidFDValid, "not sealed"},
		{"may shrink", file(whole, unix.F_SEAL_GROW|unix.F_SEAL_SEAL, nil), vuidFDValid, "not sealed"},
		{"may grow", file(whole, unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL, nil), vuidFDValid, "not sealed"},
		{"seals not sealed", file(whole, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW, nil), vuidFDValid, "not sealed"},
		{"sealed against writing", file(whole, memfd.Seals|unix.F_SEAL_WRITE, nil), vuidFDValid, "against writing"},
		{"sealed against later writing", file(whole, memfd.Seals|unix.F_SEAL_FUTURE_WRITE, nil), vuidFDValid,
			"against writing"},
		{"empty", file(0, memfd.Seals, nil), vuidFDValid, "0 bytes"},
		{"one page", file(page, memfd.Seals, nil), vuidFDValid, "not a payload"},
		{"unaligned", file(whole+1, memfd.Seals, nil), vuidFDValid, "not a payload"},
		{"foreign memfd", file(whole, memfd.Seals, func(b []byte) { clear(b) }), vuidFDValid, "magic"},
		{"truncated", file(whole-page, memfd.Seals, nil), vuidFDValid, "its metadata says"},
		{"oversized", file(whole+page, memfd.Seals, nil), vuidFDValid, "its metadata says"},
		{"magic", file(whole, memfd.Seals, set(0, 1)), vuidFDValid, "magic"},
		{"version", file(whole, memfd.Seals, set(8, 2)), vuidFDValid, "version 3"},
		{"checksum", func(t *testing.T) int {
			fd := forged(t, whole, memfd.Seals, nil)
			if _, err := unix.Pwrite(fd, []byte{1}, whole-page+100); err != nil {
				t.Fatal(err)
			}
			return fd
		}, vuidFDValid, "checksum"},
		{"driver", file(whole, memfd.Seals, set(16, 1)), vuidFDDevice, "from driver"},
		{"device", file(whole, memfd.Seals, set(32, 1)), vuidFDDevice, "from device"},
		{"size", file(whole, memfd.Seals, set(48, 1)), vuidFDSize, "bytes, the import says"},
		{"size beyond the file", file(whole, memfd.Seals, set(50, 1)), vuidFDValid, "its metadata says"},
		{"impossible size", file(whole, memfd.Seals, set(55, 0xff)), vuidFDValid, "impossible"},
		{"no ID", file(whole, memfd.Seals, set(56, 77)), vuidFDValid, "no payload ID"},
		{"memory type", file(whole, memfd.Seals, set(64, 2)), vuidFDSize, "memory type"},
		{"property flags", file(whole, memfd.Seals, set(68, 2)), vuidFDSize, "property flags"},
		{"handle types", file(whole, memfd.Seals, set(72, 1)), vuidFDValid, "not as OPAQUE_FD"},
		{"dedicated hash", file(whole, memfd.Seals, set(80, 1)), vuidFDBuffer, "buffer"},
		{"dedicated kind", file(whole, memfd.Seals, set(88, 3)), vuidFDBuffer, "buffer"},
		{"not dedicated", file(whole, memfd.Seals, set(88, 1)), vuidFDBuffer, "buffer"},
		{"unknown dedicated kind", file(whole, memfd.Seals, set(89, 1)), vuidFDValid, "dedicated kind"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fdtest.NoLeaks(t)
			fd := c.fd(t)
			wasOpen := isOpen(fd)
			p, err := importFD(fd, opaque, expectSample())
			if err == nil {
				p.Release()
				t.Fatal("imported")
			}
			wantInvalid(t, err, c.vuid, c.says)
			if isOpen(fd) != wasOpen {
				t.Error("the failed import closed the descriptor")
			}
			if wasOpen {
				unix.Close(fd)
			}
		})
	}
}

func TestImportExpectsTheSameParameters(t *testing.T) {
	p := newSample(t)
	defer p.Release()
	fd, err := exportFD(p, opaque)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for _, c := range []struct {
		vuid   vk.VUID
		change func(*Expect)
	}{
		{vuidFDSize, func(e *Expect) { e.Size++ }},
		{vuidFDSize, func(e *Expect) { e.MemoryType++ }},
		{vuidFDSize, func(e *Expect) { e.Properties ^= 2 }},
		{vuidFDDevice, func(e *Expect) { e.DriverUUID[15]++ }},
		{vuidFDDevice, func(e *Expect) { e.DeviceUUID[15]++ }},
		{vuidFDBuffer, func(e *Expect) { e.Dedicated.Hash++ }},
		{vuidFDImage, func(e *Expect) { e.Dedicated.Kind = memory.DedicatedImage }},
	} {
		want := expectSample()
		c.change(&want)
		_, err := importFD(fd, opaque, want)
		wantInvalid(t, err, c.vuid, "")
	}
	for _, h := range []vk.ExternalMemoryHandleTypeFlags{rdma, host, 0, 2} {
		_, err := importFD(fd, h, expectSample())
		wantInvalid(t, err, vk.VUID_VkImportMemoryFdInfoKHR_handleType_00669, "can't be imported")
	}
	if !isOpen(fd) {
		t.Error("closed")
	}
}

var types = []memory.Type{{Flags: 1}, {Flags: 0x101}, {Flags: 6}, {Flags: 7}}

func TestImportFromAnotherProcess(t *testing.T) {
	fdtest.NoLeaks(t)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "theirs")
	ours := os.NewFile(uintptr(pair[0]), "ours")
	conn, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	child := exec.Command("/proc/self/exe")
	child.Env = append(os.Environ(), childVariable+"=1")
	child.ExtraFiles = []*os.File{theirs}
	child.Stderr = os.Stderr
	err = child.Run()
	theirs.Close()
	if err != nil {
		t.Fatal(err)
	}
	id, oob := make([]byte, 8), make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := conn.(*net.UnixConn).ReadMsgUnix(id, oob)
	if err != nil || n != 8 {
		t.Fatalf("%d bytes, %v", n, err)
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) != 1 {
		t.Fatalf("%d messages, %v", len(messages), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		t.Fatalf("%d descriptors, %v", len(fds), err)
	}
	p, err := importFD(fds[0], opaque, expectSample())
	if err != nil {
		unix.Close(fds[0])
		t.Fatal(err)
	}
	defer p.Release()
	b, err := p.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(b[:14]); got != "from the child" {
		t.Errorf("%q", got)
	}
	if p.ID() != binary.LittleEndian.Uint64(id) {
		t.Errorf("ID %#x", p.ID())
	}
}
