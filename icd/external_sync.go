package icd

import (
	"farside/internal/journal"
	"farside/internal/syncobj"
	"farside/internal/vk"
)

// The handle types that fences and semaphores share: by reference or by copy, not both, since a copy of what
// another process may signal is not supported.
const (
	opaqueFence     = vk.EXTERNAL_FENCE_HANDLE_TYPE_OPAQUE_FD_BIT
	syncFence       = vk.EXTERNAL_FENCE_HANDLE_TYPE_SYNC_FD_BIT
	opaqueSemaphore = vk.EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT
	syncSemaphore   = vk.EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT
)

// fenceForm is the form of a set of handle types, formNone if a fence can't have that set.
func fenceForm(types vk.ExternalFenceHandleTypeFlags) form {
	switch types {
	case opaqueFence:
		return formOpaque
	case syncFence:
		return formSync
	}
	return formNone
}

// semaphoreForm is the form of a set of handle types, formNone if a semaphore can't have that set.
func semaphoreForm(types vk.ExternalSemaphoreHandleTypeFlags, timeline bool) form {
	switch {
	case types == opaqueSemaphore:
		return formOpaque
	case types == syncSemaphore && !timeline:
		return formSync
	}
	return formNone
}

// getPhysicalDeviceExternalFenceProperties answers with one type each: no two go together.
func getPhysicalDeviceExternalFenceProperties(
	p *physicalDevice, info *vk.PhysicalDeviceExternalFenceInfo, out *vk.ExternalFenceProperties,
) {
	out.ExportFromImportedHandleTypes, out.CompatibleHandleTypes, out.ExternalFenceFeatures = 0, 0, 0
	if fenceForm(info.HandleType) != formNone && p.supports(vk.KHR_EXTERNAL_FENCE_FD_EXTENSION_NAME) {
		out.ExportFromImportedHandleTypes, out.CompatibleHandleTypes = info.HandleType, info.HandleType
		out.ExternalFenceFeatures = vk.EXTERNAL_FENCE_FEATURE_EXPORTABLE_BIT | vk.EXTERNAL_FENCE_FEATURE_IMPORTABLE_BIT
	}
}

// getPhysicalDeviceExternalSemaphoreProperties answers with one type each: no two go together.
func getPhysicalDeviceExternalSemaphoreProperties(
	p *physicalDevice, info *vk.PhysicalDeviceExternalSemaphoreInfo, out *vk.ExternalSemaphoreProperties,
) {
	out.ExportFromImportedHandleTypes, out.CompatibleHandleTypes, out.ExternalSemaphoreFeatures = 0, 0, 0
	t := vk.Find[vk.SemaphoreTypeCreateInfo](info.PNext)
	timeline := t != nil && t.SemaphoreType == vk.SEMAPHORE_TYPE_TIMELINE
	if semaphoreForm(info.HandleType, timeline) != formNone && p.supports(vk.KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME) {
		out.ExportFromImportedHandleTypes, out.CompatibleHandleTypes = info.HandleType, info.HandleType
		out.ExternalSemaphoreFeatures = vk.EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT |
			vk.EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT
	}
}

var fenceExport = exportRules{
	form:        vk.VUID_VkFenceGetFdInfoKHR_handleType_01453,
	imported:    vk.VUID_VkFenceGetFdInfoKHR_fence_01455,
	unsignalled: vk.VUID_VkFenceGetFdInfoKHR_handleType_01454,
}

func getFenceFdKHR(_ *device, info *vk.FenceGetFdInfoKHR, out *int32) vk.Result {
	f := live(fences, info.Fence)
	fd, err := f.exportFD(info.HandleType)
	if err != nil {
		return f.fail("vkGetFenceFdKHR", err)
	}
	f.device.handOut("vkGetFenceFdKHR", fd, object{vk.OBJECT_TYPE_FENCE, f.handle})
	f.journalShared(journal.Export, vk.OBJECT_TYPE_FENCE, info.HandleType)
	*out = int32(fd)
	return vk.SUCCESS
}

func (f *fence) exportFD(t vk.ExternalFenceHandleTypeFlags) (int, error) {
	as := fenceForm(t)
	if as == formNone {
		return -1, vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, vk.VUID_VkFenceGetFdInfoKHR_handleType_01456,
			"%v is not a handle type that a POSIX file descriptor carries", t)
	}
	return f.export(as, &fenceExport)
}

var semaphoreExport = exportRules{
	form:        vk.VUID_VkSemaphoreGetFdInfoKHR_handleType_01132,
	imported:    vk.VUID_VkSemaphoreGetFdInfoKHR_semaphore_01133,
	unsignalled: vk.VUID_VkSemaphoreGetFdInfoKHR_handleType_03254,
}

func getSemaphoreFdKHR(_ *device, info *vk.SemaphoreGetFdInfoKHR, out *int32) vk.Result {
	s := live(semaphores, info.Semaphore)
	fd, err := s.exportFD(info.HandleType)
	if err != nil {
		return s.fail("vkGetSemaphoreFdKHR", err)
	}
	s.device.handOut("vkGetSemaphoreFdKHR", fd, object{vk.OBJECT_TYPE_SEMAPHORE, s.handle})
	s.journalShared(journal.Export, vk.OBJECT_TYPE_SEMAPHORE, info.HandleType)
	*out = int32(fd)
	return vk.SUCCESS
}

func (s *semaphore) exportFD(t vk.ExternalSemaphoreHandleTypeFlags) (int, error) {
	as := semaphoreForm(t, false)
	switch {
	case as == formNone:
		return -1, vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, vk.VUID_VkSemaphoreGetFdInfoKHR_handleType_01136,
			"%v is not a handle type that a POSIX file descriptor carries", t)
	case as == formSync && s.timeline:
		return -1, vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, vk.VUID_VkSemaphoreGetFdInfoKHR_handleType_03253,
			"a timeline semaphore has no SYNC_FD")
	}
	return s.export(as, &semaphoreExport)
}

func importFenceFdKHR(_ *device, info *vk.ImportFenceFdInfoKHR) vk.Result {
	f := live(fences, info.Fence)
	if err := f.importFD(info); err != nil {
		return f.fail("vkImportFenceFdKHR", err)
	}
	f.journalShared(journal.Import, vk.OBJECT_TYPE_FENCE, info.HandleType)
	return vk.SUCCESS
}

func (f *fence) importFD(info *vk.ImportFenceFdInfoKHR) error {
	temporary := info.Flags&vk.FENCE_IMPORT_TEMPORARY_BIT != 0
	as := fenceForm(info.HandleType)
	switch {
	case as == formNone:
		return vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, vk.VUID_VkImportFenceFdInfoKHR_handleType_01464,
			"a fence can't be imported from handle type %v", info.HandleType)
	case as == formSync && !temporary:
		return vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, vk.VUID_VkImportFenceFdInfoKHR_handleType_07306,
			"a SYNC_FD is imported with VK_FENCE_IMPORT_TEMPORARY_BIT")
	case f.pending():
		return vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, vk.VUID_vkImportFenceFdKHR_fence_01463,
			"a queue has not signalled the fence yet")
	}
	return f.importPayload(int(info.Fd), syncobj.Fence, as, temporary)
}

func importSemaphoreFdKHR(_ *device, info *vk.ImportSemaphoreFdInfoKHR) vk.Result {
	s := live(semaphores, info.Semaphore)
	if err := s.importFD(info); err != nil {
		return s.fail("vkImportSemaphoreFdKHR", err)
	}
	s.journalShared(journal.Import, vk.OBJECT_TYPE_SEMAPHORE, info.HandleType)
	return vk.SUCCESS
}

func (s *semaphore) importFD(info *vk.ImportSemaphoreFdInfoKHR) error {
	temporary := info.Flags&vk.SEMAPHORE_IMPORT_TEMPORARY_BIT != 0
	as := semaphoreForm(info.HandleType, false)
	kind := syncobj.Binary
	if s.timeline {
		kind = syncobj.Timeline
	}
	switch {
	case as == formNone:
		return vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, vk.VUID_VkImportSemaphoreFdInfoKHR_handleType_01143,
			"a semaphore can't be imported from handle type %v", info.HandleType)
	case as == formSync && !temporary:
		return vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, vk.VUID_VkImportSemaphoreFdInfoKHR_handleType_07307,
			"a SYNC_FD is imported with VK_SEMAPHORE_IMPORT_TEMPORARY_BIT")
	case as == formOpaque && temporary && s.timeline:
		return vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, vk.VUID_VkImportSemaphoreFdInfoKHR_flags_03323,
			"a timeline semaphore can't be imported temporarily")
	case s.pending():
		return vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, vk.VUID_vkImportSemaphoreFdKHR_semaphore_01142,
			"a queue has not signalled the semaphore yet")
	}
	return s.importPayload(int(info.Fd), kind, as, temporary)
}

// importPayload replaces the payload by what fd refers to, and owns fd if it succeeds.
func (c *carrier) importPayload(fd int, kind syncobj.Kind, as form, temporary bool) (err error) {
	defer func() { c.device.takeBack("an import", fd, err != nil) }()
	h := held{form: as, imported: true}
	if as == formOpaque {
		c.device.shareAsync()
		h.Payload, err = syncobj.Import(fd, kind, c.device.identity())
	} else {
		h.Payload, err = c.device.importSyncFile(fd, kind)
	}
	if err != nil {
		if vk.ResultOf(err) != vk.ERROR_INVALID_EXTERNAL_HANDLE {
			err = vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, vk.NoVUID, "%w", err) // the other error that the commands have
		}
		return err
	}
	c.replace(h, temporary)
	return nil
}
