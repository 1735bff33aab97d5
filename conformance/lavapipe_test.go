package conformance

// lavapipeBreaks lists the cases that lavapipe (22.3.6, of Debian 12) answers otherwise, with the rule that
// it breaks. A case that is listed and passes fails the suite, so that the list stays true.
var lavapipeBreaks = map[string]string{
	"binding_model.shader_access.push_elements.uniform_buffer":         "ignores dstArrayElement of what is pushed",
	"binding_model.shader_access.push_elements.storage_buffer":         "ignores dstArrayElement of what is pushed",
	"binding_model.shader_access.push_elements.uniform_texel_buffer":   "ignores dstArrayElement of what is pushed",
	"binding_model.shader_access.push_elements.storage_texel_buffer":   "ignores dstArrayElement of what is pushed",
	"binding_model.shader_access.push_elements.sampled_image":          "ignores dstArrayElement of what is pushed",
	"binding_model.shader_access.push_elements.combined_image_sampler": "ignores dstArrayElement of what is pushed",
	"binding_model.shader_access.push_elements.storage_image":          "ignores dstArrayElement of what is pushed",
	"binding_model.shader_access.write_consecutive_bindings.inline_uniform_block": "crashes where an update goes on " +
		"in the next inline uniform block",
	"binding_model.shader_access.copy_consecutive_bindings.inline_uniform_block": "crashes where an update goes on " +
		"in the next inline uniform block",

	"spirv_assembly.instruction.compute.opsmod":                           "gives the remainder the sign of the dividend",
	"spirv_assembly.instruction.compute.ext_ldexp_int64":                  "crashes where an exponent has 64 bits",
	"glsl.builtin.precision.exponential.float16":                          "crashes on functions of 16 bits",
	"glsl.builtin.precision.trigonometric.float16":                        "crashes on functions of 16 bits",
	"ext.external_memory_host.01749_01745_alignment":                      "imports pointers and sizes of any alignment",
	"memory.allocation.larger_than_heap":                                  "allocates more than the heap has",
	"memory.allocation.unknown_type":                                      "allocates from an unknown memory type",
	"memory.requirements.dedicated_smaller":                               "allocates less than the resource needs",
	"api.copy_and_blit.core.blit_image.depth_stencil.d24_unorm_s8_uint":   "blits both aspects when only one is asked for",
	"api.copy_and_blit.core.blit_image.depth_stencil.d32_sfloat_s8_uint":  "blits both aspects when only one is asked for",
	"api.external.memory.opaque_fd.image.drawn.color_formats":             "loses an alpha of two signed bits",
	"api.external.memory.opaque_fd.image.drawn.linear":                    "loses an alpha of two signed bits",
	"renderpass.input.multiview":                                          "draws into the first view alone",
	"multiview.masks":                                                     "draws into the first view alone",
	"fragment_operations.helpers_store_nothing":                           "crashes on gl_HelperInvocation",
	"pipeline.multisample_interpolation.offset_interpolate_at.samples_1":  centerW,
	"pipeline.multisample_interpolation.offset_interpolate_at.samples_4":  centerW,
	"pipeline.multisample_interpolation.sample_interpolate_at.samples_4":  centerW,
	"draw.dynamic_rendering.interpolation":                                "gives NaN where noperspective is clipped",
	"query_pool.timestamp.copy_results_32_bits_with_availability":         "writes behind an unavailable query",
	"api.copy_and_blit.core.image_to_image.one_aspect.d24_unorm_s8_uint":  "copies both aspects instead of one",
	"api.copy_and_blit.core.image_to_image.one_aspect.d32_sfloat_s8_uint": "copies both aspects instead of one",
	"api.external.memory.opaque_fd.rules.close_on_exec":                   "exports without close-on-exec",
	"api.external.memory.opaque_fd.rules.too_many_objects": "returns VK_SUCCESS and descriptor -1 " +
		"when there are no more descriptors",
	"api.external.memory.opaque_fd.rules.handle_type_0_is_ignored":      "imports although handleType is 0",
	"api.external.memory.opaque_fd.rules.00669_unsupported_handle_type": "imports a descriptor as OPAQUE_WIN32",
	"api.external.memory.opaque_fd.rules.00670_dev_null":                "closes the descriptor of a failed import",
	"api.external.memory.opaque_fd.rules.00670_empty":                   "closes the descriptor of a failed import",
	"api.external.memory.opaque_fd.rules.00670_header_overwritten":      "closes the descriptor of a failed import",
	"api.external.memory.opaque_fd.rules.00670_metadata_overwritten":    "checks a header in front of the payload",
	"api.external.memory.opaque_fd.rules.00670_oversized":               "takes a file that is larger than the payload",
	"api.external.memory.opaque_fd.rules.00670_pipe": "closes the descriptor of a failed " +
		"import, and reads from a pipe until it has data",
	"api.external.memory.opaque_fd.rules.00670_raw_memfd":    "closes the descriptor of a failed import",
	"api.external.memory.opaque_fd.rules.00670_regular_file": "closes the descriptor of a failed import",
	"api.external.memory.opaque_fd.rules.00670_truncated": "imports a file that ends in the " +
		"payload: SIGBUS at the first touch behind its end",
	"api.external.memory.opaque_fd.rules.00670_unsealed_copy": "imports a file that its owner can still shrink",
	"api.external.memory.opaque_fd.rules.00671_not_exportable": "returns VK_SUCCESS and descriptor -1 " +
		"for memory that isn't exportable",
	"api.external.memory.opaque_fd.rules.00671_reexport_of_import": "returns VK_SUCCESS and descriptor -1 " +
		"for an import without export info",
	"api.external.memory.opaque_fd.rules.00672_not_a_descriptor_type":   "exports a descriptor as OPAQUE_WIN32",
	"api.external.memory.opaque_fd.rules.00674_fd_properties_of_opaque": "answers for OPAQUE_FD",
	"api.external.memory.opaque_fd.rules.01742_larger_size":             "closes the descriptor of a failed import",
	"api.external.memory.opaque_fd.rules.01742_smaller_size":            "imports another size than the exporter's",
	"api.external.memory.opaque_fd.rules.01879_plain_as_dedicated":      "imports plain memory as dedicated",
	"api.external.memory.opaque_fd.rules.06657_two_imports":             "takes one of two imports and drops the other",
	"glsl.texture_functions.non_seamless.clamp_to_border":               clampsFaces,
	"glsl.texture_functions.non_seamless.repeat":                        clampsFaces,
}

// lavapipeSometimes names the cases that lavapipe fails now and then, by the order in which its threads run or by what
// the processor has.
var lavapipeSometimes = map[string]string{
	"glsl.builtin.precision_double.common":                           "rounds some doubles wrongly without AVX-512",
	"memory_model.message_passing.queue_family":                      "leaves loops after 65,535 rounds",
	"synchronization.basic.binary_semaphore.mixed_with_timeline":     wrongCounter,
	"synchronization2.basic.binary_semaphore.mixed_with_timeline":    wrongCounter,
	"synchronization.timeline_semaphore.one_queue":                   fenceBeforeSemaphore,
	"synchronization2.timeline_semaphore.one_queue":                  fenceBeforeSemaphore,
	"synchronization.timeline_semaphore.wait_before_signal_by_host":  fenceBeforeSemaphore,
	"synchronization2.timeline_semaphore.wait_before_signal_by_host": fenceBeforeSemaphore,
}

const fenceBeforeSemaphore = "signals the fence before a semaphore of the same submission (chapter \"Fences\", first " +
	"synchronization scope)"

const centerW = "divides what it interpolates elsewhere by the 1/w of the pixel's center"

const clampsFaces = "clamps to the edges of faces, whatever the address mode"

const wrongCounter = "now and then a wrong counter value, or a segmentation fault in it"
