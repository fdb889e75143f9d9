package wire_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core/agent/wire"
)

// fill gives every field below v a value of its own.
func fill(t *testing.T, v reflect.Value, next *int64) {
	t.Helper()
	*next++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), next)
		}
	case reflect.String:
		v.SetString(string(rune('a' + *next)))
	case reflect.Int, reflect.Int64:
		v.SetInt(-*next << 32)
	case reflect.Uintptr:
		v.SetUint(uint64(*next))
	case reflect.Uint8:
		v.SetUint(uint64(*next))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(t, v.Index(0), next)
		fill(t, v.Index(1), next)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(t, key, next)
			fill(t, value, next)
			v.SetMapIndex(key, value)
		}
	default:
		t.Fatalf("a field of kind %s", v.Kind())
	}
}

// TestConfigTravelsWhole has every field of the settings arrive, also one that is added later, and nothing of a part of
// them.
func TestConfigTravelsWhole(t *testing.T) {
	t.Parallel()
	var c wire.Config
	var n int64
	fill(t, reflect.ValueOf(&c).Elem(), &n)
	text := c.Encode()
	got, err := wire.DecodeConfig(text)
	require.NoError(t, err)
	assert.Equal(t, c, got)
	for i := range text {
		_, err := wire.DecodeConfig(text[:i])
		require.Error(t, err, "%d of %d bytes", i, len(text))
	}
}
