package icd

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"farside/internal/vk"
)

// TestRecordingInGoDoesNotAllocate records commands that always enter Go.
func TestRecordingInGoDoesNotAllocate(t *testing.T) {
	r := newRecordingTest(t)
	b := r.allocate(r.pool(resettable), primary)
	h := b.handle
	regions := make([]vk.BufferImageCopy2, inline)
	copies := vk.CopyBufferToImageInfo2{SrcBuffer: 1, DstImage: 2, RegionCount: inline, PRegions: &regions[0]}
	event := vk.Event(1)
	var begin vk.CommandBufferBeginInfo
	record := func() {
		commands.BeginCommandBuffer(h, &begin)
		commands.CmdCopyBufferToImage2(h, &copies)
		commands.CmdWaitEvents(h, 1, &event, 0, 0, 0, nil, 0, nil, 0, nil)
		commands.CmdSetEvent2(h, 1, nil)
		commands.CmdPipelineBarrier2(h, nil)
		commands.EndCommandBuffer(h)
		if b.beginPending(&submitRules1) == nil {
			b.Completed(true)
		}
	}
	record()
	if n := testing.AllocsPerRun(100, record); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// addressSpace returns the KiB that the process has mapped.
func addressSpace(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmSize:")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestPoolsGiveMemoryBack records 16 MiB again and again: every way to end a recording must give it back.
func TestPoolsGiveMemoryBack(t *testing.T) {
	r := newRecordingTest(t)
	const rounds, recorded = 64, 16 << 10 // KiB
	data := make([]byte, 65536)
	before := 0
	for round := range rounds {
		if round == 4 { // Go's heap has grown to what it needs
			before = addressSpace(t)
		}
		pool := r.pool(resettable)
		b := r.allocate(pool, primary)
		r.begin(b, 0)
		for range recorded / 64 {
			b.record("vkCmdUpdateBuffer", func() error { return b.stream.UpdateBuffer(1, 0, data) })
		}
		switch round % 4 {
		case 0:
			r.result(commands.EndCommandBuffer(b.handle), vk.SUCCESS)
		case 1:
			r.result(commands.ResetCommandBuffer(b.handle, 0), vk.SUCCESS)
			commands.TrimCommandPool(r.d.handle, pool, 0)
		case 2:
			commands.FreeCommandBuffers(r.d.handle, pool, 1, &b.handle)
		case 3:
			r.result(commands.EndCommandBuffer(b.handle), vk.SUCCESS)
			r.pending(b)
			commands.DestroyCommandPool(r.d.handle, pool, nil)
			r.reported("VUID-vkDestroyCommandPool-commandPool-00041")
			b.Completed(true)
			continue
		}
		commands.DestroyCommandPool(r.d.handle, pool, nil)
	}
	// What a round leaves behind would be there sixty times.
	if grown := addressSpace(t) - before; grown > rounds/4*recorded/2 {
		t.Errorf("%d KiB more are mapped than before", grown)
	}
}
