package config

import (
	"log/slog"
	"time"
)

// Variable is a row of Table.
type Variable struct {
	Name    string
	Type    string // what is allowed, with the units, in words that complete "the value is not"
	Default string // what holds where the variable is unset, in words
	Help    string // what the setting is for, in Markdown

	set   func(*Settings, string) error
	reset func(*Settings)
}

// Table is the variables, in the order in which they are documented.
var Table = []Variable{
	row("FARSIDE_LOG", levels, slog.LevelError, func(s *Settings) *slog.Level { return &s.Log },
		"`error`", "What goes to standard error: messages of this level and of the levels before it."),
	row(Profile, profiles, "", func(s *Settings) *string { return &s.Profile },
		"`default`, the driver's own device",
		"What the physical devices claim to be: names, heaps, memory types, queue families, limits, features, extensions. "+
			"A file is the JSON or the text of vulkaninfo, a report of gpuinfo.org, or a TOML file based on one of these. "+
			"See [profiles.md](profiles.md) and `farside profile`."),
	row(Watchdog, duration, 30*time.Second, func(s *Settings) *time.Duration { return &s.Watchdog },
		"`30s`", "How long a dispatch may run in which no workgroup ends, or whose pace says that it would take 20 times as "+
			"long. Draws have the same limit, with batches of vertices and fragments for workgroups. After that the device is "+
			"lost, and a message names the shader and its loop."),
	row("FARSIDE_KERNELS", kernels, KernelsBest, func(s *Settings) *Kernels { return &s.Kernels },
		"machine code and the fastest kernels that the processor has",
		"How shaders run: `go` is plain Go, `vector` is vector kernels (AVX2 or NEON; `avx2` is another word for it) "+
			"without machine code that is made for the shader, "+
			"`narrow` is with such machine code that has no vectors of 512 bits. "+
			"The results are the same, bit for bit."),
	row("FARSIDE_GRAPHICS", onOff, true, func(s *Settings) *bool { return &s.Graphics },
		"`on`", "Whether queue family 0 has graphics, beside compute and transfers: [graphics.md](graphics.md)."),
	row("FARSIDE_DRAWS", draws, false, func(s *Settings) *bool { return &s.DrawInOrder },
		"`binned`", "How draws are rasterized: `binned` is in tiles on all cores, `ordered` primitive by primitive on one "+
			"core. The results are the same, bit for bit."),
	row("FARSIDE_HEAP_DEVICE", heapSize, 0, func(s *Settings) *uint64 { return &s.HeapDevice },
		"three eighths of the machine's memory, or of the cgroup's limit where that is lower", "Size of the device heap."),
	row("FARSIDE_HEAP_HOST", heapSize, 0, func(s *Settings) *uint64 { return &s.HeapHost },
		"as for the device heap", "Size of the host heap."),
	row("FARSIDE_DRIVER_UUID", uuids, nil, func(s *Settings) **[16]byte { return &s.DriverUUID },
		"the same for all builds that understand each other's memory",
		"`driverUUID` to report, for tests of drivers that do not match."),
	row("FARSIDE_DEVICE_UUID", uuids, nil, func(s *Settings) **[16]byte { return &s.DeviceUUID },
		"follows from the driver's", "`deviceUUID` to report, for tests of devices that do not match."),
	row("FARSIDE_FABRIC", fabrics, nil, func(s *Settings) **Fabric { return &s.Fabric },
		"this host only",
		"Lets other hosts reach the remote addresses of this process, over TLS. The fabric's name is then "+
			"`tls://ADDRESS:PORT/`. The address is 127.0.0.1, and the kernel chooses the port unless the value says "+
			"otherwise; the log (`info`) tells it. Needs `"+SecretFile+"`."),
	row(Access, rights, nil, func(s *Settings) *[]string { return &s.FabricAccess },
		"everything",
		"What peers may do with the remote memory of this process. A suffix of the memory object's debug name, such as "+
			"`[ro]` or `[read,atomic]`, restricts it further."),
	row(AllowUIDs, users, nil, func(s *Settings) *[]uint32 { return &s.FabricAllowUIDs },
		"the process' own user only",
		"Further users that may reach the remote addresses of this process, and whose addresses it believes."),
	row(SecretFile, path, "", func(s *Settings) *string { return &s.FabricSecretFile },
		"no other hosts",
		"The file by which hosts know each other. It holds a secret of at least 32 bytes (`head -c 32 /dev/urandom`), the "+
			"same on all hosts, or a private key, its certificate and the authorities' in PEM. Only its owner may read "+
			"it. Who has the same may use every region that is served, as far as the region's rights go."),
	row("FARSIDE_STRICT", stricts, 0, func(s *Settings) *Strict { return &s.Strict },
		"nothing",
		"What the driver looks out for in the application beyond the errors that it finds anyway; "+
			"[strict.md](strict.md) says what each word does and costs."),
	row("FARSIDE_STRICT_SEED", seeds, 0, func(s *Settings) *uint64 { return &s.StrictSeed },
		"another one each time; the log (`info`) tells it",
		"The seed of the delays of `FARSIDE_STRICT=async` and `rdma`."),
	row("FARSIDE_STRICT_EXIT", exitStatus, 0, func(s *Settings) *uint8 { return &s.StrictExit },
		"as without findings",
		"The exit status of a process in which there was a finding, or an error that breaks a rule."),
	row("FARSIDE_REPORT", path, "", func(s *Settings) *string { return &s.Report },
		"none",
		"The directory of reports. Each process appends what happens to a file of its own there, and writes a page, a "+
			"summary and a JUnit report of it when it exits. `farside report DIRECTORY` merges those of all processes."),
	row("FARSIDE_TRACE", path, "", func(s *Settings) *string { return &s.Trace },
		"none",
		"The file to which what happens is appended as a Perfetto trace. Several processes may share it."),
	row(Faults, words, "", func(s *Settings) *string { return &s.Faults },
		"none",
		"What fails on command: rules such as `vkAllocateMemory=VK_ERROR_OUT_OF_DEVICE_MEMORY@3; queue=lost@dispatch:7`, or "+
			"the file of some. [faults.md](faults.md) has the language, and `farside faults check` reads it."),
	row("FARSIDE_FAULTS_RECORD", path, "", func(s *Settings) *string { return &s.FaultsRecord },
		"none",
		"The directory where each process counts its calls and what it leaves behind, for `farside faults sweep`."),
	row("FARSIDE_DUMP", path, "", func(s *Settings) *string { return &s.Dump },
		"none",
		"The directory for what the compiler of shaders makes: a directory for each shader, in it a text after each pass, "+
			"and the program. Each text is also checked, and a pass that leaves a wrong one fails the pipeline."),
	row("FARSIDE_VERBS_DEVICES", devices, 1, func(s *Settings) *uint64 { return &s.VerbsDevices },
		"`1`", "How many devices the stand-in for libibverbs shows, `farside0` and so on. See [verbs.md](verbs.md)."),
}

// row makes a row for the field of Settings that at finds.
func row[T any](name string, k kind[T], standard T, at func(*Settings) *T, words, help string) Variable {
	return Variable{
		Name: name, Type: k.allowed, Default: words, Help: help,
		reset: func(s *Settings) { *at(s) = standard },
		set: func(s *Settings, value string) (err error) {
			*at(s), err = k.parse(value)
			return err
		},
	}
}
