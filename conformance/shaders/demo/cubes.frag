#version 450
layout(location = 0) in vec3 normal;
layout(location = 1) flat in vec3 colour;
layout(location = 0) out vec4 pixel;

void main() {
	float light = max(dot(normalize(normal), normalize(vec3(0.4, 0.8, 0.5))), 0);
	float depth = clamp((1 / gl_FragCoord.w - 6) / 16, 0, 1);
	pixel = vec4(mix(colour * (0.25 + 0.85 * light), vec3(0.06, 0.08, 0.14), depth), 1);
}
