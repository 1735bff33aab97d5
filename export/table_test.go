package export

import (
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"farside/internal/fd/fdtest"
	"farside/internal/vk"
	"farside/memory"
)

// exampleRow is the line that the worked example of CONTRIBUTING.md adds to handleTypes.
var exampleRow = row{vk.EXTERNAL_MEMORY_HANDLE_TYPE_ZIRCON_VMO_BIT_FUCHSIA, FileDescriptor, zirconVMO{}}

// TestNewHandleType adds a handle type to the table, by a file (worked_test.go) and a row, and uses it in every way.
func TestNewHandleType(t *testing.T) {
	fdtest.NoLeaks(t)
	old := handleTypes
	t.Cleanup(func() { handleTypes = old })
	if Properties(vmo) != (HandleProperties{}) {
		t.Fatal("the type exists already")
	}
	supported := Properties(opaque).Compatible | host | vmo
	handleTypes = append(slices.Clone(old), exampleRow)

	checkSymmetry(t, supported)
	for _, h := range []vk.ExternalMemoryHandleTypeFlags{opaque, vmo} {
		p := Properties(h)
		if p.Compatible&(opaque|vmo) != opaque|vmo || p.ExportFromImported&(opaque|vmo|rdma) != opaque|vmo|rdma {
			t.Errorf("%v: %+v", h, p)
		}
	}
	if bits := MemoryTypes(opaque|vmo, types); bits != 0b1100 {
		t.Errorf("memory types %#b", bits)
	}
	set := Set{Types: opaque | vmo}
	if err := set.Check(&Allocation{Type: memory.Type{Flags: visible}, Imported: vmo}); err != nil {
		t.Error(err)
	}
	wantInvalid(t, set.Check(&Allocation{}), vk.VUID_VkExportMemoryAllocateInfo_handleTypes_09860, "can't be exported")

	m := sample
	m.HandleTypes = set.Types
	p, err := memory.NewShared(sampleSize, m)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	_, err = Export(allocation{p, Set{Types: opaque}}, FileDescriptor, vmo)
	wantInvalid(t, err, vk.VUID_VkMemoryGetFdInfoKHR_handleType_00671, "not as")
	_, err = Export(allocation{p, set}, RemoteAddress, vmo)
	wantInvalid(t, err, vk.VUID_VkMemoryGetRemoteAddressInfoNV_handleType_04966, "not a remote address")
	raw, err := exportFD(p, vmo)
	if err != nil {
		t.Fatal(err)
	}
	if bits, err := fdProperties(raw, vmo); err != nil || bits != 0b1100 {
		t.Errorf("types %#b, %v", bits, err)
	}
	_, err = fdProperties(-1, vmo)
	wantInvalid(t, err, vuidFDValid, "not open")
	_, err = Import(Handle{Type: vmo, By: HostPointer}, &Expect{Size: 1})
	wantInvalid(t, err, vk.VUID_VkImportMemoryHostPointerInfoEXT_handleType_01747, "can't be imported")
	q, err := importFD(raw, vmo, expectSample())
	if err != nil {
		unix.Close(raw)
		t.Fatal(err)
	}
	defer q.Release()
	if q.ID() != p.ID() {
		t.Error("not the same payload")
	}
}

const vmo = vk.EXTERNAL_MEMORY_HANDLE_TYPE_ZIRCON_VMO_BIT_FUCHSIA

// limitedVMO is a type whose handles have at most 8192 bytes.
type limitedVMO struct{ zirconVMO }

func (limitedVMO) limit() uint64 { return 8192 }

// TestLimitOfHandleType: more than the limit can't be exported, unless it was imported as the type.
func TestLimitOfHandleType(t *testing.T) {
	old := handleTypes
	t.Cleanup(func() { handleTypes = old })
	handleTypes = append(slices.Clone(old), row{vmo, FileDescriptor, limitedVMO{}})
	for _, c := range []struct {
		size     uint64
		imported vk.ExternalMemoryHandleTypeFlags
		want     vk.Result
	}{
		{8191, 0, vk.SUCCESS}, {8192, 0, vk.SUCCESS}, {8193, 0, vk.ERROR_OUT_OF_DEVICE_MEMORY},
		{8193, opaque, vk.ERROR_OUT_OF_DEVICE_MEMORY}, {8193, vmo, vk.SUCCESS},
	} {
		err := Set{Types: vmo}.Check(&Allocation{Size: c.size, Imported: c.imported, Type: memory.Type{Flags: visible}})
		if got := vk.ResultOf(err); got != c.want {
			t.Errorf("%d bytes, imported as %v: %v, want %v", c.size, c.imported, err, c.want)
		}
	}
}

// TestWorkedExample holds the diff in CONTRIBUTING.md against the file and the row that TestNewHandleType runs.
func TestWorkedExample(t *testing.T) {
	read := func(name string) []string {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	}
	text := strings.Join(read("../CONTRIBUTING.md"), "\n")
	_, diff, _ := strings.Cut(text, "## Add a handle type")
	_, diff, _ = strings.Cut(diff, "```diff\n")
	diff, _, ok := strings.Cut(diff, "\n```")
	if !ok {
		t.Fatal("CONTRIBUTING.md has no diff")
	}
	var added []string
	for line := range strings.SplitSeq(diff, "\n") {
		if rest, ok := strings.CutPrefix(line, "+"); ok && !strings.HasPrefix(rest, "++ ") {
			added = append(added, rest)
		}
	}
	const bit = "vk.EXTERNAL_MEMORY_HANDLE_TYPE_ZIRCON_VMO_BIT_FUCHSIA, FileDescriptor, zirconVMO{}},"
	want := append([]string{"\t{" + bit}, read("worked_test.go")...)
	if !slices.Equal(added, want) {
		t.Errorf("the diff adds\n%s\nthe test has\n%s", strings.Join(added, "\n"), strings.Join(want, "\n"))
	}
	if !strings.Contains(strings.Join(read("table_test.go"), "\n"), "row{"+strings.TrimSuffix(bit, ",")) {
		t.Error("exampleRow is another row")
	}
	// What the diff shows around the row is in the table.
	table := strings.Join(read("export.go"), "\n")
	for line := range strings.SplitSeq(diff, "\n") {
		if context, ok := strings.CutPrefix(line, " "); ok && !strings.Contains(table, context) {
			t.Errorf("export.go has no line %q", context)
		}
	}
}
