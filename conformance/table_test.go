package conformance

import "slices"

// table is every case.
func table() []definition {
	return slices.Concat(opaqueFdCases(), fdRuleCases(), survivalCases(), memoryCases(), requirementCases(),
		deviceInitCases(), infoCases(), profileCases(),
		queueCases(), handleCases(), rdmaCases(), neighbourCases(), debugCases(),
		dmaBufCases(), dmaBufFenceCases(), dmaBufHostileCases(), nvCases(), hammerCases(), extensionCases(),
		entryPointCases(),
		// Transfers
		transferCases(), bufferCases(), bufferBindCases(), barrierCases(), imageCopyCases(), blitCases(), resolveCases(),
		clearCases(), allFormatCases(), offerCases(),
		largeCases(), randomCases(), hostCopyCases(), hostFaultCases(), queryCases(), commandBufferCases(), secondaryCases(),
		threadCases(), commandBufferMisuse(), recordMisuse(),
		executionErrorCases(), excessCases(), transferMemoryCases(), pendingCases(),
		// Synchronisation
		fenceCases(), binaryCases(), timelineCases(), eventCases(), objectCases(), crossingCases(), syncFdCases(),
		hostileCases(), killedCases(), orderCases(), syncMisuse(), sleepCases(),
		// Compute
		computeBasicCases(), blockLayoutCases(), operatorCases(), builtinCases(), flowCases(), computeMemoryCases(),
		subgroupCases(), reconvergenceCases(), clockCases(), assemblyCases(), printfCases(), robustnessCases(),
		computeSyncCases(), bindingCases(), textureCases(), multisampleCases(), imageCases(), imageUseCases(), ycbcrCases(),
		// Graphics
		passCases(), drawCases(), fragmentCases(), stageCases(), sharedImageCases(), inputCases(), wsiCases(), formatCases(),
		loopCases(),
		lineCases(), drawStateCases(), dynamicStateCases(), libraryCases(), drawQueryCases(), interfaceCases(),
		localReadCases(), subgroupStageCases(), shaderObjectCases())
}
