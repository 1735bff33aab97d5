package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"farside/rdmasim"
)

// example returns the n-th block of docs/ci.md in a language. A block that no test knows of is an error.
func example(t *testing.T, language string, n int) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if want := map[string]int{"yaml": 4, "dockerfile": 2}[language]; len(blocks) != want {
		t.Fatalf("docs/ci.md has %d blocks of %s, want %d", len(blocks), language, want)
	}
	return blocks[n][1]
}

// step is a command of a job, with the variables that it sees.
type step struct {
	run string
	env map[string]string
}

func githubSteps(t *testing.T, text string) (steps []step) {
	t.Helper()
	var workflow struct {
		Name string
		On   []string
		Jobs map[string]struct {
			RunsOn  string `yaml:"runs-on"`
			Timeout int    `yaml:"timeout-minutes"`
			Steps   []struct {
				Name, Uses, Run string
				With, Env       map[string]string
			}
		}
	}
	strictly(t, text, &workflow)
	for _, job := range workflow.Jobs {
		for _, s := range job.Steps {
			if (s.Run == "") == (s.Uses == "") {
				t.Errorf("the step %q does not either run or use something", s.Name)
			}
			if s.Run != "" {
				steps = append(steps, step{s.Run, s.Env})
			}
		}
	}
	return steps
}

func gitlabSteps(t *testing.T, text string) (steps []step) {
	t.Helper()
	var jobs map[string]struct {
		Image, Timeout string
		Variables      map[string]string
		Before         []string `yaml:"before_script"`
		Script         []string
	}
	strictly(t, text, &jobs)
	for _, job := range jobs {
		for _, line := range slices.Concat(job.Before, job.Script) {
			steps = append(steps, step{line, job.Variables})
		}
	}
	return steps
}

// actionSteps reads a composite action: its commands, the shells of which all are bash.
func actionSteps(t *testing.T, text string) (steps []step) {
	t.Helper()
	var action struct {
		Name, Description string
		Runs              struct {
			Using string
			Steps []struct {
				Name, Uses, Shell, Run string
				With                   map[string]string
			}
		}
	}
	strictly(t, text, &action)
	if action.Name == "" || action.Description == "" || action.Runs.Using != "composite" {
		t.Errorf("action.yml lacks what an action has: %+v", action)
	}
	for _, s := range action.Runs.Steps {
		if (s.Run == "") == (s.Uses == "") || (s.Shell == "bash") != (s.Run != "") {
			t.Errorf("the step %+v does not either run something in bash or use something", s)
		}
		if s.Run != "" {
			steps = append(steps, step{run: s.Run})
		}
	}
	return steps
}

// strictly reads YAML and fails for members that are not expected.
func strictly(t *testing.T, text string, into any) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

// dockerSteps reads a Dockerfile without continued lines.
func dockerSteps(t *testing.T, text string) (steps []step) {
	t.Helper()
	for line := range strings.Lines(text) {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch instruction {
		case "RUN":
			steps = append(steps, step{run: rest})
		case "FROM", "COPY", "ENV", "CMD":
		default:
			t.Errorf("%q is no instruction that the page needs", line)
		}
	}
	return steps
}

// tests stands for your-vulkan-tests: it wants to see the driver, in the way that the job says.
const tests = `#!/bin/sh -e
farside/build/farside probe | grep -q Farside
test -n "$VK_DRIVER_FILES" && test "$FARSIDE_LOG" = warn && test "$FARSIDE_HEAP_DEVICE" = 512MiB
farside/build/farside probe | grep -q 536870912
echo passed
`

// TestCIExamples runs the files of docs/ci.md as far as no network and no container is needed: the steps that fetch
// packages or code are only read. So are the files about packages of Farside, which the tests in packaging/ run.
func TestCIExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: builds everything, and -short is set")
	}
	work := t.TempDir()
	copyTree(t, filepath.Join(work, "farside"))
	if err := os.WriteFile(filepath.Join(work, "your-vulkan-tests"), []byte(tests), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(s step) string {
		cmd := exec.Command("bash", "-ec", s.run)
		cmd.Dir, cmd.Env = work, append(os.Environ(), "VK_DRIVER_FILES=", "XDG_DATA_HOME="+work)
		for name, value := range maps.All(s.env) {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", s.run, err, out)
		}
		return string(out)
	}
	network := regexp.MustCompile(
		`^(sudo )?apt-get update && (sudo )?apt-get install -y [a-z0-9 -]+$|^git clone --depth 1 https://`)
	for name, steps := range map[string][]step{
		"GitHub": githubSteps(t, example(t, "yaml", 0)),
		"GitLab": gitlabSteps(t, example(t, "yaml", 2)),
	} {
		ran, last := 0, ""
		for _, s := range steps {
			if !network.MatchString(s.run) {
				ran, last = ran+1, run(s)
			}
		}
		if ran != 3 || last != "passed\n" {
			t.Errorf("%s: %d steps ran, and the tests printed %q", name, ran, last)
		}
	}
	if steps := githubSteps(t, example(t, "yaml", 3)); len(steps) != 3 || steps[2].run != "./your-vulkan-tests" {
		t.Errorf("the job with a package has the steps %+v", steps)
	}
	if steps := dockerSteps(t, example(t, "dockerfile", 1)); len(steps) != 2 || !network.MatchString(steps[0].run) {
		t.Errorf("the image from an image has the steps %+v", steps)
	}
	runAction(t, work, func(s step) string {
		if network.MatchString(s.run) {
			return ""
		}
		return run(s)
	})
	stage := filepath.Join(work, "stage")
	for _, s := range dockerSteps(t, example(t, "dockerfile", 0)) {
		switch {
		case network.MatchString(s.run):
		case strings.HasPrefix(s.run, "farside "): // in the image
		default:
			run(step{run: strings.ReplaceAll(s.run, "DESTDIR=/stage", "DESTDIR="+stage)})
		}
	}
	for _, path := range []string{"usr/local/bin/farside", "usr/local/share/vulkan/icd.d",
		"usr/local/lib/farside/libvulkan_farside.so"} {
		if _, err := os.Stat(filepath.Join(stage, path)); err != nil {
			t.Errorf("the image lacks what the Dockerfile counts on: %v", err)
		}
	}
}

// runAction runs the steps of action.yml, and then those of the job that uses it, in the environment that they leave,
// as GitHub's runner does it.
func runAction(t *testing.T, work string, run func(step) string) {
	t.Helper()
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"GITHUB_ACTION_PATH": filepath.Join(work, "farside"),
		"GITHUB_ENV": filepath.Join(work, "env"), "GITHUB_PATH": filepath.Join(work, "path")}
	for _, s := range actionSteps(t, string(text)) {
		run(step{s.run, env})
	}
	left, err := os.ReadFile(env["GITHUB_ENV"])
	if err != nil {
		t.Fatal(err)
	}
	path, err := os.ReadFile(env["GITHUB_PATH"])
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for _, s := range githubSteps(t, example(t, "yaml", 1)) {
		later := map[string]string{"PATH": strings.TrimSpace(string(path)) + ":" + os.Getenv("PATH")}
		maps.Copy(later, s.env)
		for line := range strings.Lines(string(left)) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			later[name] = value
		}
		last = run(step{"command -v farside > /dev/null\n" + s.run, later})
	}
	if last != "passed\n" {
		t.Errorf("the tests behind the action printed %q", last)
	}
}

// TestPeerInGoPage builds the program of docs/remote-memory.md outside of the tree, as the page says, and runs it.
func TestPeerInGoPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/remote-memory.md")
	if err != nil {
		t.Fatal(err)
	}
	_, source, _ := strings.Cut(string(page), "```go\n")
	source, _, ok := strings.Cut(source, "```\n")
	if !ok {
		t.Fatal("the page has no program in Go")
	}
	tree, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	d := newDevice(t, 4096, rdmasim.AccessAll, "page")
	d.set(0, []byte{7, 0, 0, 0, 0, 0, 0, 0})
	var out []byte
	for _, args := range [][]string{
		{"go", "mod", "init", "example"},
		{"go", "mod", "edit", "-require=farside@v0.0.0", "-replace=farside=" + tree},
		{"go", "mod", "tidy"},
		{"go", "build", "-o", "peer", "."},
		{filepath.Join(dir, "peer"), d.at(0)},
	} {
		cmd := exec.Command(args[0], args[1:]...)
		// The modules that the tree needs are in the cache. Their sums are not asked for again.
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GONOSUMDB=*", "GOFLAGS=")
		if out, err = cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	if !strings.HasPrefix(string(out), "07 00 00 ") || !strings.HasSuffix(string(out), ", counter 7\n") ||
		d.get(0, 1)[0] != 8 {
		t.Errorf("the program prints %q", out)
	}
}
