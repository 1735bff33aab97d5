package icd

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"runtime"
	"runtime/debug"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/vk"
)

// testBinary is a binary with two constants.
func testBinary() *shaderBinary {
	return &shaderBinary{stage: vk.SHADER_STAGE_FRAGMENT_BIT, subgroup: 8, varying: true, entry: "main",
		values: map[uint32][]byte{7: {1, 2, 3, 4}, 3: {5}}, words: []uint32{0x07230203, 9, 10}}
}

// TestShaderBinary: what was encoded is read back, a change of any byte is seen, and so is what other versions write.
func TestShaderBinary(t *testing.T) {
	data := testBinary().encode()
	got, err := decodeBinary(data)
	if err != nil || !reflect.DeepEqual(got, testBinary()) {
		t.Fatalf("%+v, %v", got, err)
	}
	if !bytes.Equal(got.encode(), data) {
		t.Error("the same shader has another binary")
	}
	refused := func(what string, data []byte) {
		t.Helper()
		if _, err := decodeBinary(data); vk.ResultOf(err) != vk.INCOMPATIBLE_SHADER_BINARY_EXT {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i := range data {
		damaged := bytes.Clone(data)
		damaged[i] ^= 0x10
		refused("a damaged binary", damaged)
		refused("a part of a binary", data[:i])
	}
	// With a hash that is right, what is in it is still looked at.
	content := data[binaryHeader:]
	word := func(at int, v uint32) []byte {
		b := bytes.Clone(content)
		binary.LittleEndian.PutUint32(b[at:], v)
		return b
	}
	for what, changed := range map[string][]byte{
		"a long name": word(12, 1<<31), "many constants": word(20, 1<<32-1), "a long constant": word(28, 1<<32-1),
		"words that are missing": content[:len(content)-4], "half a word": content[:len(content)-2],
		"more behind it": append(bytes.Clone(content), 0, 0, 0, 0), "nothing": nil,
	} {
		refused(what, sealed(changed))
	}
}

// FuzzShaderBinary reads any bytes behind a header that fits them. What can be read is written the same.
func FuzzShaderBinary(f *testing.F) {
	f.Add(testBinary().encode()[binaryHeader:])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, payload []byte) {
		data := sealed(payload)
		b, err := decodeBinary(data)
		if err != nil {
			return
		}
		again, err := decodeBinary(b.encode())
		if err != nil || !reflect.DeepEqual(again, b) {
			t.Errorf("%+v is read as %+v, %v", b, again, err)
		}
	})
}

// TestAbsentCode: no room is made for code that isn't there, as much as codeSize says. It could be more than the
// machine has, which ends the process.
func TestAbsentCode(t *testing.T) {
	q := newQueueTest(t)
	page, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(page)
	copy(page, "main")
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for _, size := range []uintptr{1 << 40, 1 << 46} {
		info := &vk.ShaderCreateInfoEXT{SType: vk.STRUCTURE_TYPE_SHADER_CREATE_INFO_EXT,
			Stage: vk.SHADER_STAGE_COMPUTE_BIT, CodeType: vk.SHADER_CODE_TYPE_SPIRV_EXT, CodeSize: size,
			PCode: unsafe.Pointer(&page[0]), PName: &page[0]}
		got := func() (got any) {
			defer func() { got = recover() }()
			_, err := q.d.readObjectCode(info)
			return err
		}()
		if _, fault := got.(runtime.Error); !fault {
			t.Errorf("%d bytes of code, of which 4,096 are there: %v, want a fault", size, got)
		}
	}
}
