package config

import (
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ebitengine/purego"
	"github.com/google/go-cmp/cmp"
)

var defaults = Settings{Log: slog.LevelError, Watchdog: 30 * time.Second, Graphics: true, VerbsDevices: 1}

// Each row of the table, with values that are allowed and values that are not.
var values = map[string]struct {
	good map[string]Settings
	bad  []string
}{
	"FARSIDE_STRICT": {map[string]Settings{
		"all": {Strict: StrictAll}, "guard": {Strict: StrictGuard},
		"noncoherent, Poison,leaks": {Strict: StrictNoncoherent | StrictPoison | StrictLeaks},
		"poison,all":                {Strict: StrictAll},
	}, []string{"none", "guard,", ",", "guard;leaks", "1"}},
	"FARSIDE_STRICT_SEED": {map[string]Settings{"7": {StrictSeed: 7}, "18446744073709551615": {StrictSeed: 1<<64 - 1}},
		[]string{"0", "-1", "18446744073709551616", "x"}},
	"FARSIDE_VERBS_DEVICES": {map[string]Settings{"1": {VerbsDevices: 1}, "16": {VerbsDevices: 16}},
		[]string{"0", "17", "-1", "many"}},
	"FARSIDE_STRICT_EXIT": {map[string]Settings{"3": {StrictExit: 3}, "255": {StrictExit: 255}},
		[]string{"0", "256", "-1", "three"}},
	"FARSIDE_LOG": {map[string]Settings{
		"off": {Log: LevelOff}, "error": {Log: slog.LevelError}, "warn": {Log: slog.LevelWarn},
		" Info ": {Log: slog.LevelInfo}, "trace": {Log: LevelTrace},
	}, []string{"loud", "debug", "0"}},
	"FARSIDE_WATCHDOG": {map[string]Settings{
		"0": {}, "90s": {Watchdog: 90 * time.Second}, "2m": {Watchdog: 2 * time.Minute},
	}, []string{"-1s", "soon", "5"}},
	"FARSIDE_KERNELS": {map[string]Settings{
		"go": {Kernels: KernelsGo}, "vector": {Kernels: KernelsVector}, "AVX2": {Kernels: KernelsVector},
		"narrow": {Kernels: KernelsNarrow},
	}, []string{"mmx", "best", "neon"}},
	"FARSIDE_DRAWS": {map[string]Settings{
		"ordered": {DrawInOrder: true}, "binned": {},
	}, []string{"x", "on"}},
	"FARSIDE_GRAPHICS": {map[string]Settings{
		"on": {Graphics: true}, "1": {Graphics: true}, "OFF": {}, "0": {},
	}, []string{"yes", "2"}},
	"FARSIDE_HEAP_DEVICE": {map[string]Settings{
		"4GiB": {HeapDevice: 4 << 30}, "1536 MiB": {HeapDevice: 1536 << 20}, "1048576": {HeapDevice: 1 << 20},
		"128TiB": {HeapDevice: 1 << 47}, "4g": {HeapDevice: 4 << 30}, "1.5GiB": {HeapDevice: 3 << 29},
	}, []string{"-1", "lots", "0", "1023KiB", "GiB", "129TiB", "99999999999TiB", "99999999999999999999PiB", "nan", "inf",
		"0x100000", "0x4p20GiB", "1_0MiB"}},
	"FARSIDE_HEAP_HOST": {map[string]Settings{"3MiB": {HeapHost: 3 << 20}}, []string{"lots"}},
	"FARSIDE_DRIVER_UUID": {map[string]Settings{
		"00112233445566778899aabbccddeeff":     {DriverUUID: &testUUID},
		"00112233-4455-6677-8899-AABBCCDDEEFF": {DriverUUID: &testUUID},
	}, []string{"x", "0011", "00112233445566778899aabbccddeeffff", "x00112233-4455-6677-8899-aabbccddeeffx",
		"{00112233-4455-6677-8899-aabbccddeeff}", "urn:uuid:00112233-4455-6677-8899-aabbccddeeff",
		"0011223-34455-6677-8899-AABBCCDDEEFF", "zz112233445566778899aabbccddeeff"}},
	"FARSIDE_DEVICE_UUID": {map[string]Settings{
		"00112233445566778899aabbccddeeff": {DeviceUUID: &testUUID},
	}, []string{"x"}},
	"FARSIDE_FABRIC": {map[string]Settings{
		"tls":                     {Fabric: &Fabric{}},
		"ofi":                     {Fabric: &Fabric{}},
		"tls,bind=192.0.2.7":      {Fabric: &Fabric{Listen: "192.0.2.7:0"}},
		"ofi:tcp,bind=192.0.2.7":  {Fabric: &Fabric{Listen: "192.0.2.7:0"}},
		"tls,bind=[2001:db8::1]":  {Fabric: &Fabric{Listen: "[2001:db8::1]:0"}},
		"tls,bind=192.0.2.7:7471": {Fabric: &Fabric{Listen: "192.0.2.7:7471"}},
	}, []string{"verbs", "ofi:", "ofi:verbs", "tls:tcp", "tls,", "tls,bind=",
		"tls,at=127.0.0.1", "tls,bind=127.0.0.1:x", "tls,bind=127.0.0.1:65536", "tls,bind=localhost",
		"tls,bind=localhost:7471", "tls,bind=2001:db8::1:x", "tls,bind=:7471"}},
	"FARSIDE_FABRIC_ACCESS": {map[string]Settings{
		"read":         {FabricAccess: []string{"read"}},
		"read, atomic": {FabricAccess: []string{"read", "atomic"}},
		"rw":           {FabricAccess: []string{"rw"}},
	}, []string{"reed", "read,", ",", "read atomic"}},
	"FARSIDE_FABRIC_ALLOW_UIDS": {map[string]Settings{
		"65534, 12": {FabricAllowUIDs: []uint32{65534, 12}}, "0": {FabricAllowUIDs: []uint32{0}},
	}, []string{"root", "1,,2", "-1", "4294967296", "1 2"}},
	"FARSIDE_REPORT": {map[string]Settings{"/a b": {Report: "/a b"}}, nil},
	"FARSIDE_TRACE":  {map[string]Settings{"/a b": {Trace: "/a b"}}, nil},
	"FARSIDE_PROFILE": {map[string]Settings{
		"h200": {Profile: "h200"}, "/a b.toml": {Profile: "/a b.toml"},
	}, nil},
	"FARSIDE_FABRIC_SECRET_FILE": {map[string]Settings{"/a b": {FabricSecretFile: "/a b"}}, nil},
	"FARSIDE_FAULTS":             {map[string]Settings{"queue=lost@3": {Faults: "queue=lost@3"}}, nil},
	"FARSIDE_DUMP":               {map[string]Settings{"/d": {Dump: "/d"}}, nil},
	"FARSIDE_FAULTS_RECORD":      {map[string]Settings{"/r": {FaultsRecord: "/r"}}, nil},
}

var testUUID = [16]byte{0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}

func TestTable(t *testing.T) {
	for _, v := range Table {
		c, ok := values[v.Name]
		if !ok {
			t.Errorf("%s has no values here", v.Name)
		}
		if v.Type == "" || v.Default == "" || !strings.HasSuffix(v.Help, ".") || !strings.HasPrefix(v.Name, prefix) {
			t.Errorf("%s is not documented: %+v", v.Name, v)
		}
		for value, want := range c.good {
			if v.Name != "FARSIDE_LOG" {
				want.Log = defaults.Log
			}
			if v.Name != "FARSIDE_WATCHDOG" {
				want.Watchdog = defaults.Watchdog
			}
			if v.Name != "FARSIDE_VERBS_DEVICES" {
				want.VerbsDevices = defaults.VerbsDevices
			}
			if v.Name != "FARSIDE_GRAPHICS" {
				want.Graphics = defaults.Graphics
			}
			got, err := parse([]string{v.Name + "=" + value}, false)
			if err != nil {
				t.Errorf("%s=%q: %v", v.Name, value, err)
			} else if d := cmp.Diff(&want, got); d != "" {
				t.Errorf("%s=%q (-want +got):\n%s", v.Name, value, d)
			}
		}
		for _, value := range c.bad {
			got, err := parse([]string{v.Name + "=" + value}, false)
			if !errors.Is(err, ErrSetting) || got != nil {
				t.Errorf("%s=%q: %+v, %v", v.Name, value, got, err)
				continue
			}
			for _, part := range []string{v.Name, `"` + value + `"`, strings.ReplaceAll(v.Type, "`", "")} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error of %s=%q does not name %s: %v", v.Name, value, part, err)
				}
			}
		}
	}
	if len(values) != len(Table) {
		t.Errorf("%d variables are tested, there are %d", len(values), len(Table))
	}
}

// Attack 10: an empty FARSIDE_FABRIC_ACCESS was an error, other empty variables counted as unset.
func TestEmptyIsUnset(t *testing.T) {
	var environ []string
	for _, v := range Table {
		environ = append(environ, v.Name+"=", v.Name+"=ignored, as the first entry counts")
	}
	for _, environ := range [][]string{nil, environ, {"FARSIDE_LOG= "}, {"FARSIDE_LOG"}, {"OTHER=1"}} {
		got, err := parse(environ, false)
		if err != nil {
			t.Fatalf("%q: %v", environ, err)
		}
		if d := cmp.Diff(&defaults, got); d != "" {
			t.Errorf("%q (-want +got):\n%s", environ, d)
		}
	}
}

func TestAllWrongValuesAreNamed(t *testing.T) {
	_, err := parse([]string{"FARSIDE_KERNELS=mmx", "FARSIDE_HEAP_HOST=lots", "FARSIDE_LOG=warn"}, false)
	if err == nil || !strings.Contains(err.Error(), "FARSIDE_KERNELS") ||
		!strings.Contains(err.Error(), "FARSIDE_HEAP_HOST") ||
		strings.Contains(err.Error(), "FARSIDE_LOG") {
		t.Error(err)
	}
}

func TestUnknownName(t *testing.T) {
	got, err := parse([]string{"FARSIDE_HEAP_DEVCIE=1GiB", "FARSIDE_LOGS=warn"}, false)
	if err != nil {
		t.Fatal(err)
	}
	want := defaults
	want.Notices = []Notice{
		{slog.LevelWarn, "FARSIDE_HEAP_DEVCIE is no setting and is ignored; the nearest is FARSIDE_HEAP_DEVICE"},
		{slog.LevelWarn, "FARSIDE_LOGS is no setting and is ignored; the nearest is FARSIDE_LOG"},
	}
	if d := cmp.Diff(&want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Attack 7: privileged processes obeyed FARSIDE_*.
func TestPrivilegedProcessHasDefaults(t *testing.T) {
	got, err := parse([]string{"FARSIDE_LOG=trace", "FARSIDE_KERNELS=mmx", "FARSIDE_FABRIC_ALLOW_UIDS=65534",
		"FARSIDE_NONE=1"}, true)
	if err != nil {
		t.Fatal(err)
	}
	want := defaults
	want.Notices = []Notice{{slog.LevelError, "this process is privileged (AT_SECURE): its environment does not count, " +
		"ignored FARSIDE_FABRIC_ALLOW_UIDS, FARSIDE_KERNELS, FARSIDE_LOG, FARSIDE_NONE"}}
	if d := cmp.Diff(&want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got, err := parse([]string{"FARSIDE_LOG=", "HOME=/"}, true); err != nil || len(got.Notices) != 0 {
		t.Errorf("nothing is set, and there is a notice: %+v, %v", got, err)
	}
}

// Attack 10: setenv(3) after the library was loaded was not seen.
func TestCaptureReadsEnvironmentOfC(t *testing.T) {
	if privileged() {
		t.Fatal("the test runs in a privileged process")
	}
	defer captured.Store(nil)
	setenv, err := purego.Dlsym(purego.RTLD_DEFAULT, "setenv")
	if err != nil {
		t.Fatal(err)
	}
	var inC func(name, value string, overwrite int32) int32
	purego.RegisterFunc(&inC, setenv)
	t.Setenv("FARSIDE_HEAP_HOST", "1MiB") // in both
	if inC("FARSIDE_HEAP_HOST", "2MiB", 1) != 0 {
		t.Fatal("setenv failed")
	}
	if got := os.Getenv("FARSIDE_HEAP_HOST"); got != "1MiB" {
		t.Fatalf("Go sees %s, so that nothing is tested", got)
	}
	if s, err := Read(); err != nil || s.HeapHost != 1<<20 {
		t.Errorf("before the capture %+v, %v", s, err)
	}
	if s, err := Capture(); err != nil || s.HeapHost != 2<<20 {
		t.Errorf("the capture gives %+v, %v", s, err)
	}
	if s, err := Read(); err != nil || s.HeapHost != 2<<20 {
		t.Errorf("after the capture %+v, %v", s, err)
	}
	inC("FARSIDE_HEAP_HOST", "nonsense", 1)
	if _, err := Capture(); !errors.Is(err, ErrSetting) {
		t.Error(err)
	}
	if _, err := Read(); !errors.Is(err, ErrSetting) {
		t.Error(err)
	}
	// What os.Setenv sets is in C's environment, too.
	t.Setenv("FARSIDE_HEAP_HOST", "5MiB")
	if s, err := Capture(); err != nil || s.HeapHost != 5<<20 {
		t.Errorf("after os.Setenv %+v, %v", s, err)
	}
	if !slices.Contains(environ(), "FARSIDE_HEAP_HOST=5MiB") {
		t.Errorf("environ is %q", environ())
	}
}
