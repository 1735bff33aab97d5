package verbs

import (
	"strings"
	"time"

	"farside/internal/cabi"
	"farside/internal/config"
	"farside/internal/fault"
	"farside/verbs/internal/bell"
)

// failOnCommand puts the faults of the environment in front of the functions that they are about. A plan that can't be
// read is an error of start.
func failOnCommand(list []cabi.Verb) {
	settings, err := config.Capture()
	if err != nil {
		return
	}
	plan, err := fault.Load(settings)
	if err != nil || plan == nil || !plan.Functions() {
		return
	}
	for i := range list {
		name := manualName(list[i].Name)
		if !plan.Covers(name) {
			continue
		}
		run, failing := list[i].Run, onCommand(plan, name, list[i].Run)
		if takesEvents[name] {
			list[i].Run = func(c *cabi.Call) {
				if howToTake(c) == bell.Has { // the second half of a call
					run(c)
				} else {
					failing(c)
				}
			}
			continue
		}
		list[i].Run = failing
	}
}

// takesEvents are the functions that libibverbs may call twice for one call of the application.
var takesEvents = map[string]bool{"ibv_get_cq_event": true, "ibv_get_async_event": true, "rdma_get_cm_event": true,
	"rdma_connect": true, "rdma_accept": true, "rdma_disconnect": true, "rdma_get_request": true}

// manualName is the name of a function that a structure points to, as manual pages have it.
func manualName(name string) string {
	if strings.HasPrefix(name, "ibv_") || strings.HasPrefix(name, "_ibv_") || strings.HasPrefix(name, "rdma_") {
		return name
	}
	return "ibv_" + name
}

// onCommand is a function that may take longer, or fail before it does anything. A call that fails has the result of
// any that fails, and errno.
func onCommand(plan *fault.Plan, name string, run func(*cabi.Call)) func(*cabi.Call) {
	return func(c *cabi.Call) {
		i, ok := plan.At(name, func(fault.Condition) bool { return false })
		if !ok {
			run(c)
			return
		}
		plan.Tell(name, &i)
		time.Sleep(i.Delay)
		switch {
		case i.Errno == 0:
			run(c)
		case strings.HasPrefix(name, "ibv_post_") && c.Args[2] != 0:
			failPost(c, i.Errno, c.Args[1])
		default:
			c.Fail(i.Errno)
		}
	}
}
