module coua.invalid/coua/bench

go 1.25.0

replace coua.invalid/coua => ../

require (
	coua.invalid/coua v0.0.0
	github.com/bits-and-blooms/bloom/v3 v3.7.1
	github.com/linvon/cuckoo-filter v0.4.0
	github.com/panmari/cuckoofilter v1.0.6
	github.com/seiflotfy/cuckoofilter v0.0.0-20240715131351-a2f2c23f1771
	golang.org/x/sys v0.44.0
)

require (
	github.com/bits-and-blooms/bitset v1.24.2 // indirect
	github.com/dgryski/go-metro v0.0.0-20200812162917-85c65e2d0165 // indirect
	github.com/tetratelabs/wazero v1.12.0 // indirect
)
