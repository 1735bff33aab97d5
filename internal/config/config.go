// Package config reads the environment variables FARSIDE_*. [Table] has a row for each of them, and [Settings] a
// field: a new setting is one row and one field.
//
// Empty means unset, everywhere. A value that can't be read is an error, ErrSetting, of whatever needed the settings:
// vkCreateInstance, rdmasim.Open, rdmasim.NewOwner. A name that no row has is a notice, with the nearest name that
// there is. A privileged process (getauxval(3), AT_SECURE: set-user-ID, set-group-ID, file capabilities) has the
// defaults, whatever its environment says: its caller chose that environment and must not choose for it.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/agnivade/levenshtein"
)

// ErrSetting says that a variable has a value that can't be read. The error names variable, value and what is allowed.
var ErrSetting = errors.New("wrong environment")

// Settings is what the environment says. The zero value of a pointer, a list or a string means unset.
type Settings struct {
	Log              slog.Level    // what goes to standard error: this level and above
	Profile          string        // name or path of a profile; "": the driver's own device
	Watchdog         time.Duration // how long a dispatch may go without progress; 0: for ever
	Kernels          Kernels
	Graphics         bool   // queue family 0 has graphics
	DrawInOrder      bool   // a core for each draw
	HeapDevice       uint64 // bytes; 0: a share of the machine's memory
	HeapHost         uint64 // bytes; 0: a share of the machine's memory
	DriverUUID       *[16]byte
	DeviceUUID       *[16]byte
	Fabric           *Fabric
	FabricAccess     []string // names of rights, as rdmasim.ParseAccess reads them
	FabricAllowUIDs  []uint32
	FabricSecretFile string
	Strict           Strict // what the driver looks out for
	StrictSeed       uint64 // of what strictness does at random; 0: another one each time
	StrictExit       uint8  // the exit status of a process with findings; 0: as it is
	Report           string // a directory; "": none
	Trace            string // a file; "": none
	FaultsRecord     string // a directory; "": none
	Dump             string // a directory; "": none
	VerbsDevices     uint64 // how many devices verbs shows
	Faults           string // a plan of package fault, or the file of one

	// Notices are what somebody should be told who set the environment, each a sentence.
	Notices []Notice
}

// Notice is something about the environment that is no error.
type Notice struct {
	Level slog.Level
	Text  string
}

// Levels of FARSIDE_LOG beside slog's own.
const (
	LevelTrace = slog.Level(-8) // below slog's Debug: a line for every call
	LevelOff   = slog.Level(64) // above all levels in use
)

// Kernels says how shaders are run.
type Kernels int

// The values of FARSIDE_KERNELS.
const (
	KernelsBest   Kernels = iota // machine code and the fastest vector kernels
	KernelsVector                // the fastest vector kernels, without machine code
	KernelsGo                    // plain Go
	KernelsNarrow                // as the best, but machine code with vectors of 256 bits at most
)

// Strict is what FARSIDE_STRICT names.
type Strict uint8

// The words of FARSIDE_STRICT.
const (
	StrictNoncoherent Strict = 1 << iota // host and device views of memory that is not coherent are kept apart
	StrictPoison                         // fresh and freed memory is filled with a pattern
	StrictGuard                          // no access next to mappings, nor to those that were unmapped
	StrictLeaks                          // what is left over, and where it was made
	StrictAsync                          // queues take their time, and accesses that nothing orders are found
	StrictRDMA                           // remote operations end as late as on adapters, and what orders them is looked at

	StrictAll = StrictNoncoherent | StrictPoison | StrictGuard | StrictLeaks | StrictAsync | StrictRDMA
)

// StrictWords are the words of FARSIDE_STRICT beside all, as docs/strict.md explains them.
var StrictWords = map[string]Strict{
	"noncoherent": StrictNoncoherent, "poison": StrictPoison, "guard": StrictGuard, "leaks": StrictLeaks,
	"async": StrictAsync, "rdma": StrictRDMA,
}

// Fabric is a value of FARSIDE_FABRIC.
type Fabric struct {
	Listen string // address:port; "": 127.0.0.1 and a port of the kernel's choice
}

// Names that other packages write into their messages.
const (
	Profile    = "FARSIDE_PROFILE"
	Watchdog   = "FARSIDE_WATCHDOG"
	Access     = "FARSIDE_FABRIC_ACCESS"
	AllowUIDs  = "FARSIDE_FABRIC_ALLOW_UIDS"
	SecretFile = "FARSIDE_FABRIC_SECRET_FILE"
	Faults     = "FARSIDE_FAULTS"
)

// prefix is how the name of each variable begins.
const prefix = "FARSIDE_"

// captured is what Capture read, nil before.
var captured atomic.Pointer[reading]

type reading struct {
	settings *Settings
	err      error
}

// Read returns the settings: those of the last Capture, or else what Go's environment says now.
// Errors: ErrSetting.
func Read() (*Settings, error) {
	if r := captured.Load(); r != nil {
		return r.settings, r.err
	}
	return parse(os.Environ(), privileged())
}

// Capture reads C's environment and makes Read return what it says, until the next Capture. A shared library calls it
// where the application begins to use it (vkCreateInstance, farside_peer_open): Go's own copy is from the time when
// the library was loaded, and lacks what setenv(3) has changed since. A program in Go does not need it, as
// os.Setenv changes both. As getenv(3), it must not race with a setenv(3) of another thread. Errors: ErrSetting.
func Capture() (*Settings, error) {
	settings, err := parse(environ(), privileged())
	captured.Store(&reading{settings, err})
	return settings, err
}

// parse reads an environment as execve(2) takes it; of two entries with one name the first counts, as for getenv(3).
func parse(environ []string, privileged bool) (*Settings, error) {
	s := new(Settings)
	for i := range Table {
		Table[i].reset(s)
	}
	seen := map[string]bool{}
	var wrong, ignored []string
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		value = strings.TrimSpace(value)
		if !ok || !strings.HasPrefix(name, prefix) || seen[name] {
			continue
		}
		seen[name] = true
		row := slices.IndexFunc(Table, func(v Variable) bool { return v.Name == name })
		switch {
		case value == "":
		case privileged:
			ignored = append(ignored, name)
		case row < 0:
			s.Notices = append(s.Notices, Notice{slog.LevelWarn, unknown(name)})
		default:
			if v := &Table[row]; v.set(s, value) != nil {
				wrong = append(wrong, v.refusal(value))
			}
		}
	}
	if ignored != nil {
		slices.Sort(ignored)
		s.Notices = append(s.Notices, Notice{slog.LevelError, "this process is privileged (AT_SECURE): its environment " +
			"does not count, ignored " + strings.Join(ignored, ", ")})
	}
	if wrong != nil {
		slices.Sort(wrong)
		return nil, fmt.Errorf("%w: %s", ErrSetting, strings.Join(wrong, "; "))
	}
	return s, nil
}

// refusal says what is wrong with a value.
func (v *Variable) refusal(value string) string {
	text := fmt.Sprintf("%s=%q is not %s (default: %s)", v.Name, value, v.Type, v.Default)
	return strings.ReplaceAll(text, "`", "")
}

// unknown says that there is no such variable, and which one is meant.
func unknown(name string) string {
	nearest := slices.MinFunc(Table, func(a, b Variable) int {
		return levenshtein.ComputeDistance(a.Name, name) - levenshtein.ComputeDistance(b.Name, name)
	})
	return fmt.Sprintf("%s is no setting and is ignored; the nearest is %s", name, nearest.Name)
}
