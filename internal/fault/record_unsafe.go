package fault

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/vk"
)

// Kinds are what a record counts that can be left over: types of handles, and descriptors that were exported.
var Kinds = []string{
	"VkInstance", "VkDevice", "VkDeviceMemory", "VkBuffer", "VkBufferView", "VkImage", "VkImageView", "VkSampler",
	"VkSamplerYcbcrConversion", "VkShaderModule", "VkPipelineLayout", "VkPipelineCache", "VkPipeline", "VkQueryPool",
	"VkFence", "VkSemaphore", "VkEvent", "VkPrivateDataSlot", "VkDebugUtilsMessengerEXT", "VkCommandPool",
	"VkDescriptorPool", "VkDescriptorSetLayout", "VkDescriptorUpdateTemplate", "VkShaderEXT",
	KindFD,
}

// KindFD is the kind of exported descriptors.
const KindFD = "fd"

// The words of a record: its format, with the number of commands and kinds, what was injected, then a count of calls
// for each command, and two numbers for each kind: what is there, and what was left over when its device or instance
// went.
const (
	wordFormat = iota
	wordInjected
	wordCalls
)

// recordFormat is the first word of a record, which a tool and a driver of different versions don't share.
var recordFormat = uint64(0xfa5)<<48 | uint64(len(Commands))<<16 | uint64(len(Kinds))

var recordWords = wordCalls + len(Commands) + 2*len(Kinds)

// Record is what a process has done, for a sweep: a file that others see, whatever ends the process.
type Record struct{ words []uint64 }

// recording is the record of this process, nil for none.
var recording atomic.Pointer[Record]

// StartRecord begins the record of this process in a directory, and returns it; later calls return the same.
func StartRecord(dir string) (*Record, error) {
	if r := recording.Load(); r != nil {
		return r, nil
	}
	f, err := fd.Open(filepath.Join(dir, fmt.Sprint(os.Getpid())), unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := recordWords * 8
	if err := unix.Ftruncate(f.Int(), int64(size)); err != nil {
		return nil, err
	}
	b, err := unix.Mmap(f.Int(), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	r := &Record{unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), recordWords)}
	r.words[wordFormat] = recordFormat
	if !recording.CompareAndSwap(nil, r) {
		_ = unix.Munmap(b)
	}
	return recording.Load(), nil
}

// Call counts a call.
func (r *Record) Call(command string) {
	if i := commandIndex(command); i >= 0 {
		atomic.AddUint64(&r.words[wordCalls+i], 1)
	}
}

// Live says how many things of a kind, a place in Kinds, there are now.
func (r *Record) Live(kind, n int) {
	atomic.StoreUint64(&r.words[wordCalls+len(Commands)+kind], uint64(n))
}

// Leave counts things of a kind that were left over.
func (r *Record) Leave(kind, n int) {
	atomic.AddUint64(&r.words[wordCalls+len(Commands)+len(Kinds)+kind], uint64(n))
}

// injected counts a fault.
func injected() {
	if r := recording.Load(); r != nil {
		atomic.AddUint64(&r.words[wordInjected], 1)
	}
}

// Counts are what the processes of a run have done.
type Counts struct {
	Injected uint64
	Calls    map[string]uint64 // of commands, by name
	Left     map[string]uint64 // by kind: what was not destroyed
}

// errRecord says that a file is no record of this version.
var errRecord = errors.New("the driver is of another version than this tool")

// ReadRecords adds up the records in a directory.
func ReadRecords(dir string) (Counts, error) {
	c := Counts{Calls: map[string]uint64{}, Left: map[string]uint64{}}
	files, err := os.ReadDir(dir)
	if err != nil {
		return c, err
	}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return c, err
		}
		if len(data) != recordWords*8 || binary.NativeEndian.Uint64(data) != recordFormat {
			return c, fmt.Errorf("%s: %w", f.Name(), errRecord)
		}
		word := func(i int) uint64 { return binary.NativeEndian.Uint64(data[8*i:]) }
		c.Injected += word(wordInjected)
		for i := range Commands {
			if n := word(wordCalls + i); n > 0 {
				c.Calls[Commands[i].Name()] += n
			}
		}
		for i, kind := range Kinds {
			at := wordCalls + len(Commands) + i
			if n := word(at) + word(at+len(Kinds)); n > 0 {
				c.Left[kind] += n
			}
		}
	}
	return c, nil
}

// Interesting are the errors that a sweep lets a command return: those that a program can meet on a good device. Where
// memory of both sorts can be missing, that of the device is.
func (c *Command) Interesting() (list []vk.Result) {
	device := false
	for _, r := range c.Results() {
		device = device || r == vk.ERROR_OUT_OF_DEVICE_MEMORY
	}
	for _, r := range c.Results() {
		switch {
		case r > 0, r == vk.ERROR_UNKNOWN, r == vk.ERROR_VALIDATION_FAILED, r == vk.ERROR_OUT_OF_HOST_MEMORY && device,
			r == vk.ERROR_LAYER_NOT_PRESENT, r == vk.ERROR_EXTENSION_NOT_PRESENT, r == vk.ERROR_FEATURE_NOT_PRESENT,
			r == vk.ERROR_INCOMPATIBLE_DRIVER, r == vk.ERROR_INVALID_SHADER_NV,
			r == vk.ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS_KHR, r == vk.ERROR_COMPRESSION_EXHAUSTED_EXT,
			r == vk.ERROR_IMAGE_USAGE_NOT_SUPPORTED_KHR, r == vk.ERROR_NOT_PERMITTED_EXT,
			strings.HasPrefix(r.String(), "VK_ERROR_VIDEO_"):
		default:
			list = append(list, r)
		}
	}
	return list
}
