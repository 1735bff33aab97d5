// Draws with OpenGL ES to a framebuffer object, without any window, and looks at each pixel.
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 37, HEIGHT = 21 };

static void fail(const char *what, unsigned code)
{
	fprintf(stderr, "%s fails: %#x\n", what, code);
	exit(1);
}

static GLuint shader(GLenum kind, const char *text)
{
	GLuint s = glCreateShader(kind);
	GLint ok = 0;
	char log[1024] = "";

	glShaderSource(s, 1, &text, NULL);
	glCompileShader(s);
	glGetShaderiv(s, GL_COMPILE_STATUS, &ok);
	glGetShaderInfoLog(s, sizeof(log), NULL, log);
	if (!ok)
		fail(log, kind);
	return s;
}

static const char vertex[] =
	"attribute vec2 place;\n"
	"varying vec2 at;\n"
	"void main() { at = place * 0.5 + 0.5; gl_Position = vec4(place, 0.0, 1.0); }\n";

static const char fragment[] =
	"precision highp float;\n"
	"uniform sampler2D texture0;\n"
	"uniform float blue;\n"
	"varying vec2 at;\n"
	"void main() { gl_FragColor = vec4(texture2D(texture0, at).xy, blue, 1.0); }\n";

int main(void)
{
	static const float square[] = { -1, -1, 1, -1, -1, 1, 1, 1 };
	static const unsigned char texels[] = {
		255, 0, 0, 255, 0, 255, 0, 255,
		0, 0, 0, 255, 255, 255, 0, 255,
	};
	static const EGLint attributes[] = { EGL_CONTEXT_MAJOR_VERSION, 2, EGL_NONE };
	static unsigned char got[HEIGHT][WIDTH][4];
	EGLDisplay display;
	EGLContext context;
	GLuint program, buffer, texture, target, depth, framebuffer;
	GLint ok = 0;
	int x, y, i;

	display = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
	if (!eglInitialize(display, NULL, NULL))
		fail("eglInitialize", eglGetError());
	eglBindAPI(EGL_OPENGL_ES_API);
	context = eglCreateContext(display, NULL, EGL_NO_CONTEXT, attributes);
	if (!eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context))
		fail("eglMakeCurrent", eglGetError());
	printf("%s, %s\n", (const char *)glGetString(GL_RENDERER), (const char *)glGetString(GL_VERSION));

	program = glCreateProgram();
	glAttachShader(program, shader(GL_VERTEX_SHADER, vertex));
	glAttachShader(program, shader(GL_FRAGMENT_SHADER, fragment));
	glBindAttribLocation(program, 0, "place");
	glLinkProgram(program);
	glGetProgramiv(program, GL_LINK_STATUS, &ok);
	if (!ok)
		fail("glLinkProgram", 0);
	glUseProgram(program);
	glUniform1f(glGetUniformLocation(program, "blue"), 0.2f);

	glGenBuffers(1, &buffer);
	glBindBuffer(GL_ARRAY_BUFFER, buffer);
	glBufferData(GL_ARRAY_BUFFER, sizeof(square), square, GL_STATIC_DRAW);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, NULL);
	glEnableVertexAttribArray(0);

	glGenTextures(1, &texture);
	glBindTexture(GL_TEXTURE_2D, texture);
	glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 2, 2, 0, GL_RGBA, GL_UNSIGNED_BYTE, texels);
	glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
	glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);

	glGenTextures(1, &target);
	glBindTexture(GL_TEXTURE_2D, target);
	glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, WIDTH, HEIGHT, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
	glBindTexture(GL_TEXTURE_2D, texture);
	glGenRenderbuffers(1, &depth);
	glBindRenderbuffer(GL_RENDERBUFFER, depth);
	glRenderbufferStorage(GL_RENDERBUFFER, GL_DEPTH_COMPONENT16, WIDTH, HEIGHT);
	glGenFramebuffers(1, &framebuffer);
	glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
	glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, target, 0);
	glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_RENDERBUFFER, depth);
	if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
		fail("glCheckFramebufferStatus", glCheckFramebufferStatus(GL_FRAMEBUFFER));
	glViewport(0, 0, WIDTH, HEIGHT);
	glClearColor(1, 1, 1, 1);
	glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
	glEnable(GL_DEPTH_TEST);
	glEnable(GL_SCISSOR_TEST);
	glScissor(0, 0, WIDTH, HEIGHT - 1); // the last row stays as it was cleared
	glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
	glUniform1f(glGetUniformLocation(program, "blue"), 1);
	glDrawArrays(GL_TRIANGLE_STRIP, 0, 4); // behind what is there: it changes nothing
	glDisable(GL_DEPTH_TEST);
	glEnable(GL_BLEND);
	glBlendFunc(GL_ONE, GL_ONE);
	glUniform1f(glGetUniformLocation(program, "blue"), 0.4f);
	glScissor(0, 0, 5, 3); // blue grows there
	glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
	glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, got);
	if (glGetError() != GL_NO_ERROR)
		fail("OpenGL", 0);

	for (y = 0; y < HEIGHT; y++) {
		for (x = 0; x < WIDTH; x++) {
			int column = 2 * x + 1 > WIDTH, row = 2 * y + 1 > HEIGHT;
			const unsigned char *texel = texels + 4 * (column + 2 * row);
			unsigned char want[4] = { texel[0], texel[1], 51, 255 };

			if (2 * x + 1 == WIDTH || 2 * y + 1 == HEIGHT)
				continue; // in the middle between two texels
			if (x < 5 && y < 3)
				want[2] = 153;
			for (i = 0; i < 4; i++) {
				if (y == HEIGHT - 1)
					want[i] = 255;
				if (got[y][x][i] != want[i]) {
					fprintf(stderr, "pixel %d, %d: channel %d is %d, not %d\n", x, y, i, got[y][x][i],
						want[i]);
					return 1;
				}
			}
		}
	}
	printf("all pixels are right\n");
	return 0;
}
