module portolan.dev/test/scratch

go 1.24
