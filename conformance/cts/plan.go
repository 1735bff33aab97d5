package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
)

// testCase is a case of the CTS and what our lists say of it. The indices point into the plan's lists; -1 is none.
type testCase struct {
	name                         string
	group, skip, expected, flake int
	finding                      int
}

// plan is what is to run.
type plan struct {
	groups, skips, expected, flakes []entry
	findings                        []entry    // with strictness
	cases                           []testCase // in the order in which deqp-vk runs them
	complete                        bool       // every case of the groups is in cases
}

// readPlan reads the five lists of each directory and asks deqp-vk which cases there are. Patterns, if there are any,
// narrow the choice. Of what they leave, one case in so many is taken (every, 1 or more). A group without a case is an
// error, and so is an exception that stands for no case, if the plan is complete.
func readPlan(ctx context.Context, lists []string, d *deqp, patterns []string, every int) (*plan, error) {
	p := &plan{complete: len(patterns) == 0 && every == 1}
	if err := p.readLists(lists); err != nil {
		return nil, err
	}
	choice := patterns
	if len(patterns) == 0 {
		for _, g := range p.groups {
			choice = append(choice, g.pattern)
		}
	}
	seen := map[string]bool{}
	err := d.list(ctx, choice, func(name string) {
		if group := find(p.groups, name); group >= 0 && !seen[name] {
			seen[name] = true
			if (len(seen)-1)%every != 0 {
				return
			}
			p.cases = append(p.cases, testCase{name, group, find(p.skips, name), find(p.expected, name), find(p.flakes, name),
				find(p.findings, name)})
		}
	})
	if err != nil {
		return nil, err
	}
	if len(p.cases) == 0 {
		return nil, fmt.Errorf("%s has no case of the groups in %s that matches %q", d.path, lists, choice)
	}
	return p, p.unmatched()
}

// readLists reads the five lists of each directory.
func (p *plan) readLists(directories []string) error {
	var errs []error
	for _, directory := range directories {
		read := func(list *[]entry, name string, reasons bool) {
			more, err := readList(filepath.Join(directory, name), reasons)
			*list = append(*list, more...)
			errs = append(errs, err)
		}
		read(&p.groups, "cases.txt", false)
		read(&p.skips, "skips.txt", true)
		read(&p.expected, "expected-failures.txt", true)
		read(&p.flakes, "flakes.txt", true)
		read(&p.findings, "findings.txt", true)
	}
	return errors.Join(errs...)
}

// unmatched names the entries that stand for no case: a typing error, or left over from a case that is gone.
func (p *plan) unmatched() error {
	if !p.complete {
		return nil
	}
	used := map[*entry]bool{}
	use := func(list []entry, i int) {
		if i >= 0 {
			used[&list[i]] = true
		}
	}
	for _, c := range p.cases {
		use(p.groups, c.group)
		use(p.skips, c.skip)
		use(p.expected, c.expected)
		use(p.flakes, c.flake)
		use(p.findings, c.finding)
	}
	var errs []error
	for _, list := range [][]entry{p.groups, p.skips, p.expected, p.flakes, p.findings} {
		for i := range list {
			if !used[&list[i]] {
				errs = append(errs, list[i].errorf("%s stands for no case, or for none that an earlier line leaves",
					list[i].pattern))
			}
		}
	}
	return errors.Join(errs...)
}
