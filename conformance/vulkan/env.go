package vulkan

import (
	"os"
	"strings"
)

// DriverEnv is the process's environment with the loader told to use only the drivers of these manifests.
// Both variables are set because loaders before 1.3.207 know only the second. Layers that desktops install
// by themselves are kept out, so that what is measured is the driver.
func DriverEnv(manifests ...string) []string {
	list := strings.Join(manifests, ":")
	drop := []string{"VK_DRIVER_FILES=", "VK_ICD_FILENAMES=", "VK_ADD_DRIVER_FILES=", "VK_INSTANCE_LAYERS=",
		"NODEVICE_SELECT="}
	var env []string
next:
	for _, kv := range os.Environ() {
		for _, d := range drop {
			if strings.HasPrefix(kv, d) {
				continue next
			}
		}
		env = append(env, kv)
	}
	return append(env, "VK_DRIVER_FILES="+list, "VK_ICD_FILENAMES="+list, "NODEVICE_SELECT=1")
}
