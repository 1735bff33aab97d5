package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"farside/manifest"
)

const (
	verbsLibrary = "libibverbs.so.1"
	cmLibrary    = "librdmacm.so.1"
	verbsDir     = "verbs" // beside the driver
)

func (t *tool) verbs() *cobra.Command {
	var file string
	var deviceFiles bool
	cmd := &cobra.Command{
		Use: "verbs [FLAG...] -- PROGRAM [ARGUMENT...]", DisableFlagsInUseLine: true,
		Short: "Run an RDMA program on Farside in place of adapters",
		Long: `Replaces itself by a program that finds Farside's libibverbs and librdmacm before
those of the system, and Farside's driver: those of --manifest, or of farside run. It sees
the device farside0; FARSIDE_VERBS_DEVICES asks for more. A bandwidth that it prints is
no adapter's. The dynamic linker ignores the environment in privileged programs.

With --device-files it and what it starts also see /sys/class/infiniband and
/dev/infiniband, as UCX wants it, in a mount namespace: root's right, or everybody's
where user namespaces are open to all. The files are those of the moment.

Exit status: the program's; 1 if it can't be run, 2 when called in a wrong way.`,
		Example: "  farside verbs -- ib_write_bw -F\n" +
			"  farside verbs --device-files -- ucx_info -d",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if deviceFiles {
				return t.fail(runWithDeviceFiles(cmd.Context(), file, args))
			}
			return t.fail(runVerbs(file, args))
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows PROGRAM is its own
	cmd.Flags().StringVar(&file, "manifest", "", "`FILE` that tells the loader of the driver")
	cmd.Flags().BoolVar(&deviceFiles, "device-files", false, "show the files of RDMA devices as well")
	return cmd
}

func runVerbs(file string, args []string) error {
	env, err := onVerbs(file)
	if err != nil {
		return err
	}
	program, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", program, unix.Exec(program, args, env))
}

// onVerbs is the environment of a program that uses Farside's libraries, and its driver.
func onVerbs(file string) ([]string, error) {
	path, m, err := findManifest(file)
	if err != nil {
		return nil, err
	}
	dir, err := verbsBeside(path, m)
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(dir, ":;") {
		return nil, fmt.Errorf("LD_LIBRARY_PATH can't name %q: it has a colon or a semicolon", dir)
	}
	const search, nccl = "LD_LIBRARY_PATH=", "NCCL_IBVERBS_LIB="
	env := slices.DeleteFunc(onDriver(path), func(s string) bool {
		return strings.HasPrefix(s, search) || strings.HasPrefix(s, nccl)
	})
	if old := os.Getenv("LD_LIBRARY_PATH"); old != "" {
		env = append(env, search+dir+":"+old)
	} else {
		env = append(env, search+dir)
	}
	return append(env, nccl+filepath.Join(dir, verbsLibrary)), nil
}

// verbsBeside is the directory of the libraries beside a driver.
func verbsBeside(path string, m manifest.Manifest) (string, error) {
	library := m.ICD.LibraryPath
	if !filepath.IsAbs(library) {
		library = filepath.Join(filepath.Dir(path), library)
	}
	dir := filepath.Join(filepath.Dir(library), verbsDir)
	_, err := os.Stat(filepath.Join(dir, verbsLibrary))
	return dir, err
}

// checkVerbs looks at what a program would find that is run by farside verbs.
func checkVerbs(ctx context.Context, file string) finding {
	f := finding{level: fine, what: "verbs", cure: "make build, or make install, puts the libraries beside the driver"}
	env, err := onVerbs(file)
	var seen shownVerbs
	if err == nil {
		seen, err = probeVerbsApart(ctx, env)
	}
	if err != nil {
		f.level, f.text = warning, fmt.Sprintf("RDMA programs can't use Farside: %v", err)
		return f
	}
	names := make([]string, len(seen.Devices))
	for i, d := range seen.Devices {
		names[i] = d.Name
	}
	f.text = fmt.Sprintf("%s, by farside verbs and %s; --device-files works", strings.Join(names, ", "), seen.Library)
	if _, err := mountWay(ctx); err != nil {
		f.text = strings.TrimSuffix(f.text, " works") + fmt.Sprintf(", which UCX needs, fails: %v", err)
	}
	return f
}

// shownVerbs is what a program finds under the name of libibverbs.
type shownVerbs struct {
	Library string
	Devices []shownDevice
}

type shownDevice struct {
	Name string
	GUID uint64
	GIDs []shownGID
}

// shownGID is an entry of a device's table of GIDs, which are of RoCE v2.
type shownGID struct {
	Index     int
	GID       netip.Addr
	Interface string
}

func probeVerbsApart(ctx context.Context, env []string) (s shownVerbs, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "probe", verbsDir)
	cmd.Env = env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return s, fmt.Errorf("%w: %s", err, first)
	}
	if err := json.Unmarshal(out, &s); err != nil {
		return s, err
	}
	if len(s.Devices) == 0 {
		return s, errors.New("there is no device")
	}
	return s, nil
}
