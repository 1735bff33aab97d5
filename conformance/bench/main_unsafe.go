// Command bench compares Farside with lavapipe, both in one process behind the system's loader, and prints
// the medians of interleaved rounds beside the figures that Farside is to reach.
//
// It needs the built driver (make build), lavapipe and gcc.
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

const (
	lavapipeManifest = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"
	rounds           = 15
	mib              = 1 << 20
	opaqueFd         = vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT
)

//go:embed native/loops.c
var loopsSource []byte

func main() {
	output := flag.String("o", "", "also write the table, as Markdown, to this file")
	manifest := flag.String("farside", "build/farside_icd."+map[string]string{"amd64": "x86_64",
		"arm64": "aarch64"}[runtime.GOARCH]+".json",
		"Farside's manifest")
	check := flag.Bool("check", false, "exit with 1 if a target is missed")
	before := flag.String("before", "",
		"compare with another build of Farside, which has this manifest, not with lavapipe")
	least := flag.Bool("least", false,
		"compare the least of each, not the medians: for a machine that does other work too")
	pattern := flag.String("row", "", "measure only the rows whose item matches this regular expression")
	var scenes vkmark
	flag.StringVar(&scenes.program, "vkmark", "", "measure this vkmark's scenes, too; needs -headless")
	flag.StringVar(&scenes.lavapipe, "headless", "",
		"the manifest of a lavapipe with VK_EXT_headless_surface, which vkmark's scenes are compared with")
	flag.Parse()
	var err error
	switch os.Getenv("FARSIDE_BENCH_ROLE") {
	case "create":
		err = createOnly()
	case "trip":
		err = tripMain()
	case "trip peer":
		err = tripPeerMain()
	case "owner":
		err = ownerMain()
	case "turn":
		err = turnMain()
	case "graphics":
		err = graphicsMain()
	case "measure":
		err = measure(*output, *check, *least, *pattern, &scenes)
	default:
		err = rerun(*manifest, *before, *pattern)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// rerun starts this program again with the loader told of both drivers: it reads the environment itself. With before it
// compares with that build.
func rerun(manifest, before, pattern string) error {
	path, err := filepath.Abs(manifest)
	if err != nil {
		return err
	}
	other := lavapipeManifest
	if before != "" {
		if other, err = filepath.Abs(before); err != nil {
			return err
		}
	}
	for _, p := range []string{path, other} {
		if _, err := os.Stat(p); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "farside-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	library, err := compileLoops(dir)
	if err != nil {
		return err
	}
	if before != "" {
		return compareBuilds(other, path, library, pattern)
	}
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	// Without its cache on disk lavapipe compiles each shader when its pipeline is made, as Farside does.
	cmd.Env = append(vulkan.DriverEnv(path, lavapipeManifest), "MESA_SHADER_CACHE_DISABLE=true",
		"FARSIDE_BENCH_ROLE=measure", "FARSIDE_BENCH_MANIFEST="+path, "FARSIDE_BENCH_LOOPS="+library)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// createOnly makes an instance and a device and says how many nanoseconds that took from the loading of the
// loader on, and the process's peak resident memory in KiB.
func createOnly() error {
	start := time.Now()
	l, err := vulkan.Open()
	if err != nil {
		return err
	}
	inst, r := l.CreateInstance(vulkan.InstanceConfig{APIVersion: uint32(vk.API_VERSION_1_1)})
	if r != vk.SUCCESS {
		return fmt.Errorf("vkCreateInstance: %v", r)
	}
	pds, r := inst.PhysicalDevices()
	if r != vk.SUCCESS || len(pds) == 0 {
		return fmt.Errorf("%d physical devices: %v", len(pds), r)
	}
	if _, r = inst.CreateDevice(pds[0], vulkan.DeviceConfig{}); r != vk.SUCCESS {
		return fmt.Errorf("vkCreateDevice: %v", r)
	}
	spent := time.Since(start)
	// Not getrusage: its figure takes over the parent's memory at exec.
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	var kib int
	if _, err := fmt.Sscan(peak, &kib); err != nil {
		return fmt.Errorf("/proc/self/status has no VmHWM: %w", err)
	}
	fmt.Println(spent.Nanoseconds(), kib)
	return nil
}

// loops is the compiled native/loops.c.
type loops struct {
	allocateFree, allocateTouchFree, mapUnmap, importFree, getFdClose, dupClose, requirements, memcpy uintptr
	recordFill, recordThreads, recordCopy, recordBarrier, submit, trips, memoryThreads, saxpyThreads  uintptr
	peer, pipelines, multiplyAdds                                                                     uintptr
}

// compileLoops compiles native/loops.c into dir and returns the library's path.
func compileLoops(dir string) (string, error) {
	source, library := filepath.Join(dir, "loops.c"), filepath.Join(dir, "loops.so")
	if err := os.WriteFile(source, loopsSource, 0o600); err != nil {
		return "", err
	}
	if out, err := exec.Command("gcc", "-O2", "-march=native", "-pthread", "-shared", "-fPIC", "-o", library,
		source).CombinedOutput(); err != nil {
		return "", fmt.Errorf("gcc (Debian packages gcc, libc6-dev): %w\n%s", err, out)
	}
	return library, nil
}

// openLoops loads the library whose path the environment has.
func openLoops() (*loops, error) {
	lib, err := purego.Dlopen(os.Getenv("FARSIDE_BENCH_LOOPS"), purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	var l loops
	for name, at := range map[string]*uintptr{"loop_allocate_free": &l.allocateFree,
		"loop_allocate_touch_free": &l.allocateTouchFree,
		"loop_map_unmap":           &l.mapUnmap,
		"loop_import_free":         &l.importFree,
		"loop_get_fd_close":        &l.getFdClose, "loop_dup_close": &l.dupClose, "loop_requirements": &l.requirements,
		"loop_memcpy":      &l.memcpy,
		"loop_record_fill": &l.recordFill, "loop_record_threads": &l.recordThreads, "loop_record_copy": &l.recordCopy,
		"loop_record_barrier": &l.recordBarrier,
		"loop_submit":         &l.submit, "loop_trips": &l.trips, "loop_memory_threads": &l.memoryThreads,
		"loop_saxpy_threads": &l.saxpyThreads,
		"loop_multiply_adds": &l.multiplyAdds,
		"loop_peer":          &l.peer, "loop_pipelines": &l.pipelines} {
		if *at, err = purego.Dlsym(lib, name); err != nil {
			return nil, err
		}
	}
	return &l, nil
}

// run calls a loop of n rounds, whose last argument is n, and returns nanoseconds a round.
func run(n int, loop uintptr, args ...uintptr) float64 {
	r, _, _ := purego.SyscallN(loop, append(args, uintptr(n))...)
	if ns := int64(r); ns >= 0 {
		return float64(ns) / float64(n)
	}
	panic(fmt.Sprintf("a call failed: %v", vk.Result(int64(r))))
}

// driver is one of the two, with what its loops need.
type driver struct {
	name     string
	dev      *vulkan.Device
	visible  uint32
	a        vulkan.Arena
	small    *vk.MemoryAllocateInfo // 64 KiB
	plain    *vk.MemoryAllocateInfo // 1 MiB, like the others
	exported *vk.MemoryAllocateInfo
	remote   *vk.MemoryAllocateInfo // nil without remote addresses
	importer *vk.MemoryAllocateInfo
	fdInfo   *vk.ImportMemoryFdInfoKHR
	getFd    *vk.MemoryGetFdInfoKHR
	fd       int
	mappable vk.DeviceMemory
	buffer   vk.Buffer
	transfer *transferBench
	compute  *computeBench // nil if no row of shaders is wanted
}

func openDriver(inst *vulkan.Instance, pd vk.PhysicalDevice) (*driver, error) {
	d := &driver{name: "lavapipe"}
	if inst.DriverName(pd) == "Farside" {
		d.name = "farside"
	}
	bytes := vulkan.Struct[vk.PhysicalDevice8BitStorageFeatures](&d.a)
	bytes.StorageBuffer8BitAccess = vk.TRUE
	config := vulkan.DeviceConfig{Next: unsafe.Pointer(bytes),
		Extensions: []string{vk.KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, vk.KHR_8BIT_STORAGE_EXTENSION_NAME}}
	if d.name == "farside" {
		f := vulkan.Struct[vk.PhysicalDeviceExternalMemoryRDMAFeaturesNV](&d.a)
		f.ExternalMemoryRDMA, f.PNext = vk.TRUE, config.Next
		config.Extensions = append(config.Extensions, vk.NV_EXTERNAL_MEMORY_RDMA_EXTENSION_NAME)
		config.Next = unsafe.Pointer(f)
	}
	var r vk.Result
	if d.dev, r = inst.CreateDevice(pd, config); r != vk.SUCCESS {
		return nil, fmt.Errorf("%s: vkCreateDevice: %v", d.name, r)
	}
	mem := inst.MemoryProperties(pd, nil)
	const flags = vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.MEMORY_PROPERTY_HOST_COHERENT_BIT
	for mem.MemoryTypes[d.visible].PropertyFlags&flags != flags {
		d.visible++
	}
	info := func(next unsafe.Pointer) *vk.MemoryAllocateInfo {
		i := vulkan.New[vk.MemoryAllocateInfo](&d.a)
		i.SType = vk.STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO
		i.PNext, i.AllocationSize, i.MemoryTypeIndex = next, mib, d.visible
		return i
	}
	d.plain, d.small = info(nil), info(nil)
	d.small.AllocationSize = 64 << 10
	d.exported = info(vulkan.ExportInfo(&d.a, opaqueFd, nil))
	for i, t := range mem.MemoryTypes[:mem.MemoryTypeCount] {
		if t.PropertyFlags&vk.MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV != 0 {
			d.remote = info(vulkan.ExportInfo(&d.a, vk.EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV, nil))
			d.remote.MemoryTypeIndex = uint32(i)
		}
	}
	next := vulkan.ImportFdInfo(&d.a, opaqueFd, -1, nil)
	d.fdInfo = (*vk.ImportMemoryFdInfoKHR)(next)
	d.importer = info(next)
	m, r := d.dev.Allocate(mib, d.visible, vulkan.ExportInfo(&d.a, opaqueFd, nil))
	if r != vk.SUCCESS {
		return nil, fmt.Errorf("%s: vkAllocateMemory: %v", d.name, r)
	}
	if d.fd, r = d.dev.GetFd(m, opaqueFd); r != vk.SUCCESS {
		return nil, fmt.Errorf("%s: vkGetMemoryFdKHR: %v", d.name, r)
	}
	if d.mappable, r = d.dev.Allocate(mib, d.visible, nil); r != vk.SUCCESS {
		return nil, fmt.Errorf("%s: vkAllocateMemory: %v", d.name, r)
	}
	d.getFd = vulkan.New[vk.MemoryGetFdInfoKHR](&d.a)
	d.getFd.SType = vk.STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR
	d.getFd.Memory, d.getFd.HandleType = m, opaqueFd
	if d.buffer, r = d.dev.CreateBuffer(100001, 0); r != vk.SUCCESS {
		return nil, fmt.Errorf("%s: vkCreateBuffer: %v", d.name, r)
	}
	var err error
	if d.transfer, err = openTransferBench(d.dev, d.visible); err != nil {
		return nil, fmt.Errorf("%s: %w", d.name, err)
	}
	return d, nil
}

func address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// warmUp allocates and frees until the kernel has given Go's heap its first 4 MB, page by page: some 14,000 pairs.
func (d *driver) warmUp(l *loops) {
	run(20000, l.allocateFree, d.dev.Proc("vkAllocateMemory"), d.dev.Proc("vkFreeMemory"), uintptr(d.dev.Handle),
		address(d.small))
}

// sample measures what both drivers are compared by, once.
func (d *driver) sample(l *loops, into *samples) {
	alloc, free, dev := d.dev.Proc("vkAllocateMemory"), d.dev.Proc("vkFreeMemory"), uintptr(d.dev.Handle)
	add := func(what string, n int, loop uintptr, args ...uintptr) {
		into.add(d.name+" "+what, func() float64 { return run(n, loop, args...) })
	}
	run(200, l.allocateFree, alloc, free, dev, address(d.small)) // the other driver has had the caches
	add("small", 2000, l.allocateFree, alloc, free, dev, address(d.small))
	add("plain", 200, l.allocateFree, alloc, free, dev, address(d.plain))
	add("exportable", 200, l.allocateFree, alloc, free, dev, address(d.exported))
	if d.remote != nil {
		add("remote", 200, l.allocateFree, alloc, free, dev, address(d.remote))
	}
	mapping := d.dev.Proc("vkMapMemory")
	add("plain touched", 50, l.allocateTouchFree, alloc, free, mapping, dev, address(d.plain))
	add("exportable touched", 50, l.allocateTouchFree, alloc, free, mapping, dev, address(d.exported))
	add("map", 2000, l.mapUnmap, mapping, d.dev.Proc("vkUnmapMemory"), dev, uintptr(d.mappable))
	add("import", 200, l.importFree, alloc, free, dev, address(d.importer), address(d.fdInfo), uintptr(d.fd))
	add("getfd", 2000, l.getFdClose, d.dev.Proc("vkGetMemoryFdKHR"), dev, address(d.getFd))
	add("dup", 2000, l.dupClose, uintptr(d.fd))
	add("requirements", 20000, l.requirements, d.dev.Proc("vkGetBufferMemoryRequirements"), dev, uintptr(d.buffer))
}

// versions says which builds were compared.
func versions(drivers []*driver) string {
	var s []string
	for _, d := range drivers {
		p := vulkan.New[vk.PhysicalDeviceDriverProperties](&d.a)
		p.SType = vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES
		d.dev.Instance.Properties2(d.dev.Physical, unsafe.Pointer(p))
		s = append(s, d.name+" "+vulkan.GoString(&p.DriverInfo[0]))
	}
	slices.Sort(s)
	return strings.Join(s, ", ")
}

// measureAll measures what rows other than those of shaders need.
func measureAll(drivers []*driver, l *loops, all *samples) error {
	if err := sampleCreation(all); err != nil {
		return err
	}
	var peer *fabric // nil if no row needs it
	if all.needs(fabricKeys()...) {
		var err error
		if peer, err = openFabric(); err != nil {
			return err
		}
		defer peer.close()
	}
	for _, d := range drivers {
		d.warmUp(l)
	}
	for range rounds {
		for _, d := range drivers {
			d.sample(l, all)
			if err := d.transfer.sample(d, l, all); err != nil {
				return err
			}
			if d.name == "farside" {
				d.transfer.sampleMemory(l, all)
			}
		}
		if err := sampleTrips(all); err != nil {
			return err
		}
		slices.Reverse(drivers) // neither always comes first
		if peer == nil {
			continue
		}
		if err := peer.sample(l, all); err != nil {
			return err
		}
	}
	if err := sampleVerbs(all); err != nil {
		return err
	}
	return sampleHosts(all)
}

// measureCompute measures what the rows of shaders need.
func measureCompute(drivers []*driver, l *loops, all *samples) error {
	if err := checkCompute(drivers, l, all); err != nil {
		return err
	}
	for round := range rounds {
		for _, d := range drivers {
			if err := d.compute.sample(d, round, l, all); err != nil {
				return err
			}
		}
		slices.Reverse(drivers)
	}
	return nil
}

// selected are the rows whose items the pattern matches.
func selected(rows []row, pattern *regexp.Regexp) []row {
	return slices.DeleteFunc(rows, func(r row) bool { return !pattern.MatchString(r.item) })
}

func measure(output string, check, least bool, pattern string, scenes *vkmark) error {
	if (scenes.program == "") != (scenes.lavapipe == "") {
		return errors.New("-vkmark and -headless go together")
	}
	if output != "" && (pattern != "" || least) {
		return errors.New("-o writes the medians of all rows, so it goes neither with -row nor with -least")
	}
	items, err := regexp.Compile(pattern)
	if err != nil {
		return fmt.Errorf("-row: %w", err)
	}
	plain, compute := selected(slices.Concat(plainRows(), verbsRows()), items), selected(computeRows(), items)
	graphics, marks := selected(graphicsRows(), items), selected(scenes.rows(), items)
	if len(plain)+len(compute)+len(graphics)+len(marks) == 0 {
		return fmt.Errorf("-row: no row matches %q", pattern)
	}
	l, err := openLoops()
	if err != nil {
		return err
	}
	loader, err := vulkan.Open()
	if err != nil {
		return err
	}
	inst, r := loader.CreateInstance(vulkan.InstanceConfig{APIVersion: uint32(vk.API_VERSION_1_1)})
	if r != vk.SUCCESS {
		return fmt.Errorf("vkCreateInstance: %v", r)
	}
	pds, r := inst.PhysicalDevices()
	if r != vk.SUCCESS || len(pds) != 2 {
		return fmt.Errorf("%d physical devices, want Farside's and lavapipe's: %v", len(pds), r)
	}
	var drivers []*driver
	for _, pd := range pds {
		d, err := openDriver(inst, pd)
		if err == nil && len(compute) > 0 {
			d.compute, err = openComputeBench(d.dev, d.visible)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", inst.DriverName(pd), err)
		}
		drivers = append(drivers, d)
	}
	rows := slices.Concat(plain, compute, graphics, marks)
	all := newSamples(rows)
	if len(plain) > 0 {
		err = measureAll(drivers, l, all)
	}
	if err == nil && len(compute) > 0 {
		err = measureCompute(drivers, l, all)
	}
	if err != nil {
		return err
	}
	if err := sampleGraphics(pattern, all); err != nil {
		return err
	}
	if err := scenes.sample(all); err != nil {
		return err
	}
	values := all.medians()
	if least {
		values = all.least()
	}
	table := render(rows, values)
	fmt.Print(strings.Join(table, "\n"), "\n")
	if output != "" {
		if err := os.WriteFile(output, []byte(page(table, versions(drivers))), 0o644); err != nil {
			return err
		}
	}
	if missed := strings.Count(strings.Join(table, "\n"), verdictMissed); check && missed > 0 {
		return fmt.Errorf("%d targets missed", missed)
	}
	return nil
}
