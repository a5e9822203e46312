package install_test

import "io/fs"

func identity(info fs.FileInfo) any { return info.Size() }
