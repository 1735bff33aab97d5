package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

const verdictMissed = "missed"

// formatRow is a row: a value, what it is compared with, and the ratio to reach. A limit of 0 is no target.
func formatRow(item string, value float64, unit string, scale float64, other string, against, limit float64) string {
	ratio := value / against
	target, verdict := "none", ""
	if limit > 0 {
		target, verdict = fmt.Sprintf("at most %.4g", limit), "reached"
		if ratio > limit {
			verdict = verdictMissed
		}
	}
	return fmt.Sprintf("| %s | %.4g %s | %s: %.4g %s | %.2f | %s | %s |", item, value/scale, unit, other, against/scale,
		unit, ratio, target, verdict)
}

// render prints medians (nanoseconds; KiB for memory) as rows of a Markdown table.
func render(m map[string]float64) []string {
	rows := []string{
		"| item | Farside | compared with | ratio | to reach | |",
		"| --- | --- | --- | --- | --- | --- |",
	}
	row := func(item string, value float64, unit string, scale float64, other string, against, limit float64) {
		rows = append(rows, formatRow(item, value, unit, scale, other, against, limit))
	}
	lavapipe := func(item, key, unit string, scale, limit float64) {
		row(item, m["farside "+key], unit, scale, "lavapipe", m["lavapipe "+key], limit)
	}
	lavapipe("instance + device in a fresh process", "create", "ms", 1e6, 0.25)
	lavapipe("peak resident memory of that process", "peak", "MiB", 1024, 0.5)
	row("allocate + free 64 KiB", m["farside small"], "ns", 1, "the target", 400, 1)
	lavapipe("the same, beside lavapipe", "small", "ns", 1, 0)
	lavapipe("allocate + free 1 MiB", "plain", "µs", 1e3, 1)
	lavapipe("allocate + free 1 MiB, exportable", "exportable", "µs", 1e3, 1)
	lavapipe("import + free 1 MiB", "import", "µs", 1e3, 1.5)
	lavapipe("allocate + map + touch + free 1 MiB", "plain touched", "µs", 1e3, 0)
	lavapipe("allocate + map + touch + free 1 MiB, exportable", "exportable touched", "µs", 1e3, 0)
	row("vkGetMemoryFdKHR + close", m["farside getfd"], "ns", 1, "F_DUPFD_CLOEXEC + close", m["farside dup"], 1.3)
	row("vkGetBufferMemoryRequirements", m["farside requirements"], "ns", 1, "the target", 100, 1)
	lavapipe("the same, beside the bare C function", "requirements", "ns", 1, 0)
	lavapipe("record vkCmdFillBuffer", "record fill", "ns", 1, 0.1)
	row(fmt.Sprintf("50,000 on each of %d threads, a command", min(runtime.NumCPU(), 64)), m["farside record threads"],
		"ns", 1, "on one", m["farside record thread"], 0)
	lavapipe("record vkCmdCopyBuffer, one region", "record copy", "ns", 1, 0.1)
	lavapipe("record vkCmdPipelineBarrier, one memory barrier", "record barrier", "ns", 1, 0.1)
	lavapipe("execute a fill of 64 B, one of 50,000", "fills", "ns", 1, 0.5)
	lavapipe("execute a copy of 64 B, one of 50,000", "copies", "ns", 1, 0.5)
	lavapipe("empty submit + wait + reset", "submit", "µs", 1e3, 0.25)
	lavapipe("fill 128 MiB", "large fill", "ms", 1e6, 1)
	row("fill 128 MiB", m["farside large fill"], "ms", 1e6, "memset by as many threads", m["memset"], 1/0.9)
	lavapipe("copy 128 MiB", "large copy", "ms", 1e6, 1)
	row("copy 128 MiB", m["farside large copy"], "ms", 1e6, "memcpy by as many threads", m["memcpy"], 1/0.9)
	lavapipe("buffer to image, 2048 x 2048 RGBA8", "buffer to image", "ms", 1e6, 1)
	lavapipe("blit, 1024 x 1024 to 2048 x 2048 RGBA8, nearest", "blit nearest", "ms", 1e6, 1)
	lavapipe("blit, 1024 x 1024 to 2048 x 2048 RGBA8, linear", "blit linear", "ms", 1e6, 1)
	row("round trip between the queues of two processes, median", m["trip"], "µs", 1e3, "the target", 30e3, 1)
	row("round trip between the queues of two processes, 99th percentile", m["trip p99"], "µs", 1e3, "the median",
		m["trip"], 0)
	row("the same with a host that waits for each, median", m["trip awaited"], "µs", 1e3, "without", m["trip"], 0)
	row("the same with a host that waits for each, 99th percentile", m["trip awaited p99"], "µs", 1e3, "the median",
		m["trip awaited"], 0)
	row("allocate + free 1 MiB, with a remote address", m["farside remote"], "µs", 1e3, "exportable",
		m["farside exportable"], 1.5)
	row("peer reads 8 B", m["read 8"], "ns", 1, "the target", 50, 1)
	row("peer writes 8 B", m["write 8"], "ns", 1, "the target", 50, 1)
	row("peer in C reads 8 B", m["C read 8"], "ns", 1, "the target", 150, 1)
	row("peer in C writes 8 B", m["C write 8"], "ns", 1, "the target", 150, 1)
	row("peer reads 64 B", m["read 64"], "ns", 1, "the target", 100, 1)
	row("peer writes 64 B", m["write 64"], "ns", 1, "the target", 100, 1)
	row("peer reads 64 KiB", m["read 64K"], "µs", 1e3, "memcpy", m["memcpy read 64K"], 1.1)
	row("peer writes 64 KiB", m["write 64K"], "µs", 1e3, "memcpy", m["memcpy write 64K"], 1.1)
	row("peer reads 256 KiB", m["read 256K"], "µs", 1e3, "memcpy", m["memcpy read 256K"], 1.1)
	row("peer writes 256 KiB", m["write 256K"], "µs", 1e3, "memcpy", m["memcpy write 256K"], 1.1)
	row("peer reads 1 MiB", m["read 1M"], "µs", 1e3, "memcpy", m["memcpy read 1M"], 1/0.95)
	row("peer writes 1 MiB", m["write 1M"], "µs", 1e3, "memcpy", m["memcpy write 1M"], 1/0.95)
	row("peer reads 64 MiB", m["read 64M"], "ms", 1e6, "memcpy", m["memcpy read 64M"], 1/0.95)
	row("peer writes 64 MiB", m["write 64M"], "ms", 1e6, "memcpy", m["memcpy write 64M"], 1/0.95)
	row("peer adds to a word", m["fetch-add"], "ns", 1, "the target", 60, 1)
	row("first resolve of a remote address", m["resolve"], "µs", 1e3, "the target", 200e3, 1)
	row("peer of another host over loopback reads 1 MiB, pipelined", m["host read"], "µs", 1e3,
		"crypto/tls alone", m["bare read"], 1/0.9)
	row("peer of another host over loopback writes 1 MiB, pipelined", m["host write"], "µs", 1e3,
		"crypto/tls alone", m["bare write"], 1/0.9)
	return rows
}

// renderCompute is the rows of shaders; none if they were not measured.
func renderCompute(m map[string]float64) []string {
	if m["farside copy"] == 0 {
		return nil
	}
	var rows []string
	lavapipe := func(item, key, unit string, scale, limit float64) {
		rows = append(rows, formatRow(item, m["farside "+key], unit, scale, "lavapipe", m["lavapipe "+key], limit))
	}
	for _, k := range computeKernels {
		lavapipe(computeTitles[k.name], k.name, "ms", 1e6, k.most)
		switch k.name {
		case "copy":
			rows = append(rows, formatRow(computeTitles[k.name], m["farside copy"], "ms", 1e6, "memcpy by as many threads",
				m["memcpy of shaders"], 2))
		case "saxpy":
			rows = append(rows, formatRow(computeTitles[k.name], m["farside saxpy"], "ms", 1e6, "a loop in C, as many threads",
				m["saxpy in C"], 0))
		}
	}
	lavapipe("create the pipelines of these shaders", "pipelines", "ms", 1e6, 0.2)
	lavapipe("the same with their modules", "modules", "ms", 1e6, 0)
	lavapipe("create them, and execute a workgroup of each", "used", "ms", 1e6, 0)
	lavapipe("empty dispatch, submit and wait", "empty dispatch", "µs", 1e3, 0.25)
	return rows
}

// page is docs/benchmarks.md.
func page(table []string, versions string) string {
	var u unix.Utsname
	kernel := "unknown"
	if unix.Uname(&u) == nil {
		kernel = unix.ByteSliceToString(u.Release[:])
	}
	return fmt.Sprintf(`# Benchmarks

Both drivers in one process behind the system's Vulkan loader, medians of %d interleaved rounds; the loops over
driver calls are C. Farside maps memory when vkMapMemory is called, lavapipe when it is allocated or imported: the
rows "map + touch" count that too. memset and memcpy work on the memory of the buffers that Farside fills and
copies. Peers use memory of another process; what they move is compared with memcpy over the same mapping, and, from
another host over loopback, with as many connections of crypto/tls and nothing around them. What shaders write was
compared between the drivers.

Written by `+"`go run ./conformance/bench -o docs/benchmarks.md`"+`.

Machine: %s, %d logical processors, Linux %s, %s.
Compared: %s.

%s
`, rounds, processor(), runtime.NumCPU(), kernel, runtime.Version(), versions, strings.Join(table, "\n"))
}

func processor() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(info)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.Trim(name, "\t :\n")
		}
	}
	return "unknown processor"
}
