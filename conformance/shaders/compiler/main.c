// Compiles shaders that come on standard input: GLSL to SPIR-V by glslang, checked by SPIRV-Tools. It does what
// glslangValidator -V and spirv-val do, without a process for each shader: to start takes longer than the rest.
//
// A request is a struct request, the text, the preamble ("#define" lines) and the file's name in debug information,
// each with a NUL at its end. An answer is a struct answer and so many bytes: a module, or what is wrong.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <glslang/Include/glslang_c_interface.h>
#include <glslang/Public/resource_limits_c.h>
#include <spirv-tools/libspirv.h>

static const struct {
	glslang_target_client_version_t vulkan;
	glslang_target_language_version_t spirv;
	spv_target_env env;
} targets[] = {
	{GLSLANG_TARGET_VULKAN_1_0, GLSLANG_TARGET_SPV_1_0, SPV_ENV_VULKAN_1_0},
	{GLSLANG_TARGET_VULKAN_1_1, GLSLANG_TARGET_SPV_1_3, SPV_ENV_VULKAN_1_1},
	{GLSLANG_TARGET_VULKAN_1_2, GLSLANG_TARGET_SPV_1_5, SPV_ENV_VULKAN_1_2},
	{GLSLANG_TARGET_VULKAN_1_3, GLSLANG_TARGET_SPV_1_6, SPV_ENV_VULKAN_1_3},
};

struct request {
	uint32_t stage;  // glslang_stage_t
	uint32_t target; // the minor version of Vulkan
	uint32_t debug, validate, scalar; // 0 or 1
	uint32_t sizes[3];                // of the texts, with their NULs
};

struct answer {
	uint32_t wrong; // 0 or 1
	uint32_t size;
};

static char *joined(const char *a, const char *b) {
	char *text = malloc(strlen(a) + strlen(b) + 1);
	return strcat(strcpy(text, a), b);
}

// compile returns NULL and a module of so many words, or what is wrong.
static char *compile(const struct request *r, char *texts[3], uint32_t **words, size_t *count) {
	int messages = GLSLANG_MSG_SPV_RULES_BIT | GLSLANG_MSG_VULKAN_RULES_BIT | (r->debug ? GLSLANG_MSG_DEBUG_INFO_BIT : 0);
	glslang_input_t input = {
		.language = GLSLANG_SOURCE_GLSL, .stage = r->stage,
		.client = GLSLANG_CLIENT_VULKAN, .client_version = targets[r->target].vulkan,
		.target_language = GLSLANG_TARGET_SPV, .target_language_version = targets[r->target].spirv,
		.code = texts[0], .default_version = 100, .default_profile = GLSLANG_NO_PROFILE,
		.messages = messages, .resource = glslang_default_resource(),
	};
	char *wrong = NULL;
	glslang_shader_t *shader = glslang_shader_create(&input);
	glslang_program_t *program = glslang_program_create();
	glslang_shader_set_preamble(shader, texts[1]);
	if (!glslang_shader_preprocess(shader, &input) || !glslang_shader_parse(shader, &input)) {
		wrong = joined(glslang_shader_get_info_log(shader), "");
	} else {
		glslang_program_add_shader(program, shader);
		if (!glslang_program_link(program, messages) || !glslang_program_map_io(program))
			wrong = joined(glslang_program_get_info_log(program), "");
	}
	if (!wrong) {
		if (r->debug) {
			glslang_program_set_source_file(program, r->stage, texts[2]);
			glslang_program_add_source_text(program, r->stage, texts[0], strlen(texts[0]));
		}
		glslang_spv_options_t options = {.generate_debug_info = r->debug, .disable_optimizer = true};
		glslang_program_SPIRV_generate_with_options(program, r->stage, &options);
		*count = glslang_program_SPIRV_get_size(program);
		*words = malloc(*count * sizeof **words);
		glslang_program_SPIRV_get(program, *words);
	}
	glslang_program_delete(program);
	glslang_shader_delete(shader);
	return wrong;
}

// validate returns NULL, or what is wrong.
static char *validate(const struct request *r, const uint32_t *words, size_t count) {
	spv_context context = spvContextCreate(targets[r->target].env);
	spv_validator_options options = spvValidatorOptionsCreate();
	spvValidatorOptionsSetUniformBufferStandardLayout(options, true);
	spvValidatorOptionsSetScalarBlockLayout(options, r->scalar);
	spvValidatorOptionsSetWorkgroupScalarBlockLayout(options, r->scalar);
	spv_const_binary_t binary = {words, count};
	spv_diagnostic diagnostic = NULL;
	char *wrong = NULL;
	if (spvValidateWithOptions(context, options, &binary, &diagnostic) != SPV_SUCCESS)
		wrong = joined("spirv-val: ", diagnostic ? diagnostic->error : "the module is invalid");
	spvDiagnosticDestroy(diagnostic);
	spvValidatorOptionsDestroy(options);
	spvContextDestroy(context);
	return wrong;
}

int main(void) {
	struct request r;
	glslang_initialize_process();
	while (fread(&r, sizeof r, 1, stdin) == 1) {
		char *texts[3];
		for (int i = 0; i < 3; i++) {
			texts[i] = malloc(r.sizes[i]);
			if (fread(texts[i], 1, r.sizes[i], stdin) != r.sizes[i])
				return 1;
		}
		uint32_t *words = NULL;
		size_t count = 0;
		char *wrong = compile(&r, texts, &words, &count);
		if (!wrong && r.validate)
			wrong = validate(&r, words, count);
		struct answer a = {wrong != NULL, wrong ? strlen(wrong) : count * sizeof *words};
		fwrite(&a, sizeof a, 1, stdout);
		fwrite(wrong ? wrong : (char *)words, 1, a.size, stdout);
		if (fflush(stdout) != 0)
			return 1;
		free(wrong);
		free(words);
		for (int i = 0; i < 3; i++)
			free(texts[i]);
	}
}
