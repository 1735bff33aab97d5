#version 450
#extension GL_EXT_debug_printf : enable
layout(local_size_x = 1) in;
void main() {
	debugPrintfEXT("from a shader");
}
