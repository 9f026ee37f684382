package coua

import "testing"

// Bytes that come from anywhere: an error or a filter, never a crash.
func FuzzFromBytes(fuzz *testing.F) {
	f := must(New(Capacity(10), Rate(0.01)))
	must(f.InsertUniqueString("a"))
	fuzz.Add(must(f.MarshalBinary()))
	fuzz.Add([]byte("COUA"))
	fuzz.Fuzz(func(t *testing.T, data []byte) {
		f, err := FromBytes(data)
		if err != nil {
			is(t, err, ErrNotAFilter)
			return
		}
		must(f.InsertUniqueString("another"))
		equal(t, must(f.ContainsString("another")), true)
		ok(t, f.Close())
	})
}

// Each byte is a call: a filter that keeps 64 bits answers as a map does.
func FuzzCalls(fuzz *testing.F) {
	fuzz.Add([]byte{0, 64, 128, 192, 1, 65, 0, 200})
	fuzz.Fuzz(func(t *testing.T, calls []byte) {
		f, model := must(New()), make(map[byte]uint64)
		for _, call := range calls {
			key := call & 63
			switch call >> 6 {
			case 0:
				equal(t, must(f.InsertUnique([]byte{key})), model[key] == 0)
				model[key] = max(model[key], 1)
			case 1:
				ok(t, f.Insert([]byte{key}))
				model[key]++
			case 2:
				equal(t, must(f.Remove([]byte{key})), model[key] > 0)
				if model[key] > 0 {
					model[key]--
				}
			default:
				equal(t, must(f.Contains([]byte{key})), model[key] > 0)
				equal(t, must(f.Count([]byte{key})), model[key])
			}
		}
		ok(t, f.Close())
	})
}
