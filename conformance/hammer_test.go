package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

const hammerThreads = 8

// TestHammer lets eight threads allocate, export, import, map, compare and free through the loader.
func TestHammer(t *testing.T) {
	seconds := 30
	if testing.Short() {
		seconds = 5
	}
	d := find("farside.hammer")
	o := runChild(context.Background(), "farside", d, "FARSIDE_HAMMER_SECONDS="+strconv.Itoa(seconds))
	if o.verdict != "pass" {
		t.Errorf("%s\n%s", o.verdict, o.text)
	}
}

func usage(c *Case) [vk.MAX_MEMORY_HEAPS]uint64 {
	b := vulkan.New[vk.PhysicalDeviceMemoryBudgetPropertiesEXT](&c.a)
	b.SType = vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT
	c.inst.MemoryProperties(c.pd, vulkan.Ptr(b))
	return b.HeapUsage
}

// hammer is the case that TestHammer and, for a second, the table run.
func hammer(c *Case) {
	length := time.Second
	if s, err := strconv.Atoi(os.Getenv("FARSIDE_HAMMER_SECONDS")); err == nil {
		length = time.Duration(s) * time.Second
	}
	before := usage(c)
	typ := c.visible()
	var rounds atomic.Int64
	errors := make(chan error, hammerThreads)
	end := time.Now().Add(length)
	var wg sync.WaitGroup
	for thread := range hammerThreads {
		wg.Go(func() {
			var a vulkan.Arena
			defer a.Close()
			rng := rand.New(rand.NewPCG(uint64(thread), 9))
			for first := true; first || time.Now().Before(end); first = false {
				a.Reset()
				if err := hammerOnce(c, &a, rng, typ); err != nil {
					errors <- fmt.Errorf("thread %d: %w", thread, err)
					return
				}
				rounds.Add(1)
			}
		})
	}
	wg.Wait()
	close(errors)
	for err := range errors {
		c.Errorf("%v", err)
	}
	if after := usage(c); after != before {
		c.Errorf("heap usage was %v, is %v", before, after)
	}
	if rounds.Load() < hammerThreads {
		c.Errorf("only %d rounds", rounds.Load())
	}
}

// hammerOnce shares one payload between an export and up to three imports.
func hammerOnce(c *Case, a *vulkan.Arena, rng *rand.Rand, typ uint32) error {
	size := 1 + rng.Uint64N(128<<10)
	seed := rng.IntN(256)
	m, r := c.dev.AllocateIn(a, size, typ, vulkan.ExportInfo(a, opaqueFd, nil))
	if r != vk.SUCCESS {
		return fmt.Errorf("vkAllocateMemory: %v", r)
	}
	live := []vk.DeviceMemory{m}
	for range 1 + rng.IntN(3) {
		fd, r := c.dev.GetFdIn(a, m, opaqueFd)
		if r != vk.SUCCESS {
			return fmt.Errorf("vkGetMemoryFdKHR: %v", r)
		}
		i, r := c.dev.AllocateIn(a, size, typ, vulkan.ImportFdInfo(a, opaqueFd, fd, nil))
		if r != vk.SUCCESS {
			return fmt.Errorf("import: %v", r)
		}
		live = append(live, i)
	}
	p, r := c.dev.MapIn(a, m, 0, vk.WHOLE_SIZE)
	if r != vk.SUCCESS {
		return fmt.Errorf("vkMapMemory: %v", r)
	}
	fill(vulkan.Bytes(p, int(size)), seed)
	rng.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
	for _, o := range live {
		if o != m {
			if p, r = c.dev.MapIn(a, o, 0, vk.WHOLE_SIZE); r != vk.SUCCESS {
				return fmt.Errorf("vkMapMemory of an import: %v", r)
			}
			for i, b := range vulkan.Bytes(p, int(size)) {
				if want := byte(i*31 + i>>8 + seed); b != want {
					return fmt.Errorf("byte %d of an import is %#x, want %#x", i, b, want)
				}
			}
		}
		c.dev.Free(o)
	}
	return nil
}

func hammerCases() []definition {
	return []definition{{name: "farside.hammer", farsideOnly: true,
		extensions: []string{fdExtension, "VK_EXT_memory_budget"}, run: hammer}}
}
