package remote

import (
	"errors"
	"fmt"

	"farside/internal/fault"
	"farside/rdmasim/internal/exchange"
	"farside/rdmasim/internal/verbs"
)

// farErrors says what the errors of exchange are here.
var farErrors = []struct{ below, here error }{
	{exchange.ErrAuthentication, verbs.ErrPermission},
	{exchange.ErrProtocol, verbs.ErrProtocol},
	{exchange.ErrGone, verbs.ErrUnreachable},
	{exchange.ErrBusy, verbs.ErrResources},
}

func farError(err error) error {
	for _, e := range farErrors {
		if errors.Is(err, e.below) {
			return fmt.Errorf("%w: %w", e.here, err)
		}
	}
	return err
}

// outcomes are the errors that a bridge answers with; the number of one is its place.
var outcomes = []error{nil, verbs.ErrStale, verbs.ErrUnknownAddress, verbs.ErrFreed, verbs.ErrOwnerDied,
	verbs.ErrPermission, verbs.ErrAccess, verbs.ErrKey, verbs.ErrOutOfRange, verbs.ErrMisaligned, verbs.ErrBadWork,
	verbs.ErrTimeout, verbs.ErrClosed, verbs.ErrProtocol, verbs.ErrResources}

// onCommand is where the outcomes begin that a bridge answers with on command: one for each status.
const onCommand = 256

func outcomeError(o exchange.Outcome) error {
	if o > onCommand && o-onCommand < exchange.Outcome(len(fault.StatusNames)) {
		return verbs.OnCommand(verbs.Status(o - onCommand))
	}
	if int(o) >= len(outcomes) {
		return fmt.Errorf("%w: outcome %d", verbs.ErrProtocol, o)
	}
	return outcomes[o]
}

func outcomeOf(err error) exchange.Outcome {
	for i, known := range outcomes {
		if errors.Is(err, known) {
			return exchange.Outcome(i)
		}
	}
	return exchange.Outcome(len(outcomes) - 1)
}
