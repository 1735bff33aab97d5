package conformance

import "slices"

// table is every case.
func table() []definition {
	return slices.Concat(opaqueFdCases(), fdRuleCases(), survivalCases(), memoryCases(), requirementCases(),
		deviceInitCases(), infoCases(), queueCases(), handleCases(), rdmaCases(), neighbourCases(), debugCases(),
		nvCases(), hammerCases(), transferCases(), extensionCases(),
		commandBufferCases(), bufferCases(), bufferBindCases(),
		commandBufferMisuse(),
		// Synchronisation
		fenceCases(), binaryCases(), timelineCases(), eventCases(), objectCases(), crossingCases(), syncFdCases(),
		hostileCases(), killedCases(),
		hostFaultCases())
}
