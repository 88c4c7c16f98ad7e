package epsg

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"testing"
)

// apart is the distance of two near points, in metres.
func apart(latitude, longitude, toLatitude, toLongitude float64) float64 {
	const metres = 111_320
	return math.Hypot((latitude-toLatitude)*metres, (longitude-toLongitude)*metres*math.Cos(latitude*degree))
}

func angle(degrees, minutes, seconds float64) float64 { return degrees + minutes/60 + seconds/3600 }

// The worked examples of EPSG Guidance Note 7-2. Their coordinates are rounded to
// centimetres.
func TestWorkedExamples(t *testing.T) {
	t.Parallel()
	const foot = 1200.0 / 3937
	clarke := ellipsoid{6378206.4, 1 / 294.9786982}
	for name, c := range map[string]struct {
		inverse             func(x, y float64) (float64, float64)
		x, y                float64
		latitude, longitude float64
	}{
		"Transverse Mercator, OSGB36 / British National Grid": {
			transverseMercator(ellipsoid{6377563.396, 1 / 299.32496}, parameters{49, -2, 0.9996012717, 0, 400000, -100000}),
			577274.99, 69740.50, angle(50, 30, 0), angle(0, 30, 0),
		},
		"Lambert Conic Conformal (2SP), NAD27 / Texas South Central": {
			lambert(clarke, parameters{angle(27, 50, 0), -99, angle(28, 23, 0), angle(30, 17, 0), 2000000 * foot, 0}),
			2963503.91 * foot, 254759.80 * foot, angle(28, 30, 0), -96,
		},
		"Lambert Conic Conformal (1SP), JAD69 / Jamaica National Grid": {
			lambertOneParallel(clarke, parameters{18, -77, 1, 0, 250000, 150000}),
			255966.58, 142493.51, angle(17, 55, 55.80), -angle(76, 56, 37.26),
		},
		"Popular Visualisation Pseudo Mercator": {webMercator, -11169055.58, 2800000.00, angle(24, 22, 54.433), -angle(100, 20, 0)},
	} {
		latitude, longitude := c.inverse(c.x, c.y)
		if far := apart(latitude, longitude, c.latitude, c.longitude); !(far < 0.03) {
			t.Errorf("%s: %v, %v is %.3f m away", name, latitude, longitude, far)
		}
	}
}

// Points of all kinds of systems, computed with PROJ.
func TestAgreesWithPROJ(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/points.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) < 200 {
		t.Fatal(len(rows), err)
	}
	for _, row := range rows {
		var v [5]float64
		for i := range v {
			if v[i], err = strconv.ParseFloat(row[i], 64); err != nil {
				t.Fatal(err)
			}
		}
		s, err := Find(int(v[0]))
		if err != nil {
			t.Fatal(err)
		}
		latitude, longitude := s.Degrees(v[1], v[2])
		if far := apart(latitude, longitude, v[4], v[3]); !(far < 0.01) {
			t.Errorf("EPSG:%s: %v, %v is %.3f m away", row[0], latitude, longitude, far)
		}
	}
}

func TestEveryCode(t *testing.T) {
	t.Parallel()
	for _, code := range Codes() {
		s, err := Find(code)
		if err != nil {
			t.Fatal(err)
		}
		if s.unit == 0 {
			t.Errorf("EPSG:%d has no unit", code)
		}
	}
	if _, err := Find(27700); err == nil {
		t.Error("a system of another datum is known")
	}
}
