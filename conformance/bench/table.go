package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

const verdictMissed = "missed"

// row is a row of the table: a median (nanoseconds; KiB for memory), what it is compared with, and the ratio to reach.
type row struct {
	item, key, unit string
	scale           float64
	other, against  string  // the name and the key of another median, or
	target          float64 // a figure
	limit           float64 // 0 is no target
}

// lavapipe is a row that compares the medians of both drivers.
func lavapipe(item, key, unit string, scale, limit float64) row {
	return compared(item, "farside "+key, unit, scale, "lavapipe", "lavapipe "+key, limit)
}

// compared is a row that compares two medians.
func compared(item, key, unit string, scale float64, other, against string, limit float64) row {
	return row{item: item, key: key, unit: unit, scale: scale, other: other, against: against, limit: limit}
}

// toReach is a row that compares a median with the figure that it has to reach.
func toReach(item, key, unit string, scale, target float64) row {
	return row{item: item, key: key, unit: unit, scale: scale, other: "the target", target: target, limit: 1}
}

// format prints a row of a Markdown table.
func (r *row) format(medians map[string]float64) string {
	value, against := medians[r.key], r.target
	if r.against != "" {
		against = medians[r.against]
	}
	ratio := value / against
	target, verdict := "none", ""
	if r.limit > 0 {
		target, verdict = fmt.Sprintf("at most %.4g", r.limit), "reached"
		if ratio > r.limit {
			verdict = verdictMissed
		}
	}
	return fmt.Sprintf("| %s | %.4g %s | %s: %.4g %s | %.2f | %s | %s |", r.item, value/r.scale, r.unit, r.other,
		against/r.scale, r.unit, ratio, target, verdict)
}

// render prints rows as a Markdown table.
func render(rows []row, medians map[string]float64) []string {
	lines := []string{
		"| item | Farside | compared with | ratio | to reach | |",
		"| --- | --- | --- | --- | --- | --- |",
	}
	for _, r := range rows {
		lines = append(lines, r.format(medians))
	}
	return lines
}

// plainRows are all rows but those of shaders.
func plainRows() []row {
	return []row{
		lavapipe("instance + device in a fresh process", "create", "ms", 1e6, 0.25),
		lavapipe("peak resident memory of that process", "peak", "MiB", 1024, 0.5),
		toReach("allocate + free 64 KiB", "farside small", "ns", 1, 400),
		lavapipe("the same, beside lavapipe", "small", "ns", 1, 0),
		lavapipe("allocate + free 1 MiB", "plain", "µs", 1e3, 1),
		lavapipe("allocate + free 1 MiB, exportable", "exportable", "µs", 1e3, 1),
		lavapipe("import + free 1 MiB", "import", "µs", 1e3, 1.5),
		lavapipe("allocate + map + touch + free 1 MiB", "plain touched", "µs", 1e3, 0),
		lavapipe("allocate + map + touch + free 1 MiB, exportable", "exportable touched", "µs", 1e3, 0),
		compared("vkGetMemoryFdKHR + close", "farside getfd", "ns", 1, "F_DUPFD_CLOEXEC + close", "farside dup", 1.3),
		toReach("vkGetBufferMemoryRequirements", "farside requirements", "ns", 1, 100),
		lavapipe("the same, beside the bare C function", "requirements", "ns", 1, 0),
		lavapipe("record vkCmdFillBuffer", "record fill", "ns", 1, 0.1),
		compared(fmt.Sprintf("50,000 on each of %d threads, a command", min(runtime.NumCPU(), 64)),
			"farside record threads", "ns", 1, "on one", "farside record thread", 0),
		lavapipe("record vkCmdCopyBuffer, one region", "record copy", "ns", 1, 0.1),
		lavapipe("record vkCmdPipelineBarrier, one memory barrier", "record barrier", "ns", 1, 0.1),
		lavapipe("execute a fill of 64 B, one of 50,000", "fills", "ns", 1, 0.5),
		lavapipe("execute a copy of 64 B, one of 50,000", "copies", "ns", 1, 0.5),
		lavapipe("empty submit + wait + reset", "submit", "µs", 1e3, 0.25),
		lavapipe("fill 128 MiB", "large fill", "ms", 1e6, 1),
		compared("fill 128 MiB", "farside large fill", "ms", 1e6, "memset by as many threads", "memset", 1/0.9),
		lavapipe("copy 128 MiB", "large copy", "ms", 1e6, 1),
		compared("copy 128 MiB", "farside large copy", "ms", 1e6, "memcpy by as many threads", "memcpy", 1/0.9),
		lavapipe("buffer to image, 2048 x 2048 RGBA8", "buffer to image", "ms", 1e6, 1),
		lavapipe("blit, 1024 x 1024 to 2048 x 2048 RGBA8, nearest", "blit nearest", "ms", 1e6, 1),
		lavapipe("blit, 1024 x 1024 to 2048 x 2048 RGBA8, linear", "blit linear", "ms", 1e6, 1),
		toReach("round trip between the queues of two processes, median", "trip", "µs", 1e3, 30e3),
		compared("round trip between the queues of two processes, 99th percentile", "trip p99", "µs", 1e3,
			"the median", "trip", 0),
		compared("the same with a host that waits for each, median", "trip awaited", "µs", 1e3, "without", "trip", 0),
		compared("the same with a host that waits for each, 99th percentile", "trip awaited p99", "µs", 1e3,
			"the median", "trip awaited", 0),
		compared("allocate + free 1 MiB, with a remote address", "farside remote", "µs", 1e3, "exportable",
			"farside exportable", 1.5),
		toReach("peer reads 8 B", "read 8", "ns", 1, 50),
		toReach("peer writes 8 B", "write 8", "ns", 1, 50),
		toReach("peer in C reads 8 B", "C read 8", "ns", 1, 150),
		toReach("peer in C writes 8 B", "C write 8", "ns", 1, 150),
		toReach("peer reads 64 B", "read 64", "ns", 1, 100),
		toReach("peer writes 64 B", "write 64", "ns", 1, 100),
		compared("peer reads 64 KiB", "read 64K", "µs", 1e3, "memcpy", "memcpy read 64K", 1.1),
		compared("peer writes 64 KiB", "write 64K", "µs", 1e3, "memcpy", "memcpy write 64K", 1.1),
		compared("peer reads 256 KiB", "read 256K", "µs", 1e3, "memcpy", "memcpy read 256K", 1.1),
		compared("peer writes 256 KiB", "write 256K", "µs", 1e3, "memcpy", "memcpy write 256K", 1.1),
		compared("peer reads 1 MiB", "read 1M", "µs", 1e3, "memcpy", "memcpy read 1M", 1/0.95),
		compared("peer writes 1 MiB", "write 1M", "µs", 1e3, "memcpy", "memcpy write 1M", 1/0.95),
		compared("peer reads 64 MiB", "read 64M", "ms", 1e6, "memcpy", "memcpy read 64M", 1/0.95),
		compared("peer writes 64 MiB", "write 64M", "ms", 1e6, "memcpy", "memcpy write 64M", 1/0.95),
		toReach("peer adds to a word", "fetch-add", "ns", 1, 60),
		toReach("first resolve of a remote address", "resolve", "µs", 1e3, 200e3),
		compared("peer of another host over loopback reads 1 MiB, pipelined", "host read", "µs", 1e3,
			"crypto/tls alone", "bare read", 1/0.9),
		compared("peer of another host over loopback writes 1 MiB, pipelined", "host write", "µs", 1e3,
			"crypto/tls alone", "bare write", 1/0.9),
	}
}

// computeRows are the rows of shaders.
func computeRows() []row {
	var rows []row
	for _, k := range computeKernels {
		title := computeTitles[k.name]
		rows = append(rows, lavapipe(title, k.name, "ms", 1e6, k.most))
		switch k.name {
		case "copy":
			rows = append(rows, compared(title, "farside copy", "ms", 1e6, "memcpy by as many threads", "memcpy of shaders", 2))
		case "saxpy":
			rows = append(rows, compared(title, "farside saxpy", "ms", 1e6, "a loop in C, as many threads", "saxpy in C", 0))
		case "product":
			rows = append(rows, compared(title, "farside product", "ms", 1e6,
				"as many multiply-adds at the processor's peak, as many threads", "multiply-adds", 2))
		}
	}
	return append(rows,
		lavapipe("create the pipelines of these shaders", "pipelines", "ms", 1e6, 0.2),
		lavapipe("the same with their modules", "modules", "ms", 1e6, 0),
		lavapipe("create them, and execute a workgroup of each", "used", "ms", 1e6, 0),
		lavapipe("empty dispatch, submit and wait", "empty dispatch", "µs", 1e3, 0.25))
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
compared between the drivers. Rows of verbs are of programs on the stand-in for libibverbs, and say nothing about an
adapter. vkmark's rows are there if it is given: medians of %d runs of a second, each in a process of its own.

Written by `+"`go run ./conformance/bench -o docs/benchmarks.md`"+`.
[benchmark-notes.md](benchmark-notes.md) says what bounds rows that miss.

Machine: %s, %d logical processors, Linux %s, %s.
Compared: %s.

%s
`, rounds, vkmarkRounds, processor(), runtime.NumCPU(), kernel, runtime.Version(), versions, strings.Join(table, "\n"))
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
