package epsg

import "math"

// ellipsoid is a figure of the earth: half its major axis in metres, and its flattening.
type ellipsoid struct{ axis, flattening float64 }

// grs80 is that of NAD83; that of WGS 84 differs by a tenth of a millimetre.
var grs80 = ellipsoid{6378137, 1 / 298.257222101}

func (e ellipsoid) eccentricity() float64 {
	return math.Sqrt(e.flattening * (2 - e.flattening))
}

// parameters are those of a projection, in degrees and metres. first is a scale or the
// first standard parallel, second the second one.
type parameters struct {
	latitude, longitude, first, second, easting, northing float64
}

const degree = math.Pi / 180

// transverseMercator is the inverse of EPSG method 9807, by Krüger's series in the third
// flattening after Karney ("Transverse Mercator with an accuracy of a few nanometers",
// 2011), to the fourth order: accurate to a millimetre in and around a zone.
func transverseMercator(e ellipsoid, p parameters) func(x, y float64) (float64, float64) {
	n := e.flattening / (2 - e.flattening)
	n2, n3, n4 := n*n, n*n*n, n*n*n*n
	radius := e.axis / (1 + n) * (1 + n2/4 + n4/64)
	alpha := [4]float64{
		n/2 - 2*n2/3 + 5*n3/16 + 41*n4/180,
		13*n2/48 - 3*n3/5 + 557*n4/1440,
		61*n3/240 - 103*n4/140,
		49561 * n4 / 161280,
	}
	beta := [4]float64{
		n/2 - 2*n2/3 + 37*n3/96 - n4/360,
		n2/48 + n3/15 - 437*n4/1440,
		17*n3/480 - 37*n4/840,
		4397 * n4 / 161280,
	}
	ecc := e.eccentricity()
	// The distance from the equator to the origin.
	origin := 0.0
	if p.latitude != 0 {
		conformal := math.Atan(conformalTangent(ecc, p.latitude*degree))
		origin = conformal
		for i, a := range alpha {
			origin += a * math.Sin(float64(2*(i+1))*conformal)
		}
	}
	scale := p.first * radius
	return func(x, y float64) (float64, float64) {
		xi, eta := (y-p.northing)/scale+origin, (x-p.easting)/scale
		north, east := xi, eta
		for i, b := range beta {
			k := float64(2 * (i + 1))
			north -= b * math.Sin(k*xi) * math.Cosh(k*eta)
			east -= b * math.Cos(k*xi) * math.Sinh(k*eta)
		}
		conformal := math.Asin(math.Sin(north) / math.Cosh(east))
		latitude := geodetic(ecc, math.Tan(conformal))
		return latitude / degree, p.longitude + math.Atan2(math.Sinh(east), math.Cos(north))/degree
	}
}

// lambert is the inverse of EPSG method 9802, with two standard parallels.
func lambert(e ellipsoid, p parameters) func(x, y float64) (float64, float64) {
	ecc := e.eccentricity()
	first, second := p.first*degree, p.second*degree
	m1, m2 := parallel(ecc, first), parallel(ecc, second)
	t1, t2 := isometric(ecc, first), isometric(ecc, second)
	n := math.Sin(first)
	if first != second {
		n = (math.Log(m1) - math.Log(m2)) / (math.Log(t1) - math.Log(t2))
	}
	return cone(ecc, n, e.axis*m1/(n*math.Pow(t1, n)), p)
}

// lambertOneParallel is the inverse of EPSG method 9801, with one standard parallel and a
// scale on it.
func lambertOneParallel(e ellipsoid, p parameters) func(x, y float64) (float64, float64) {
	ecc, origin := e.eccentricity(), p.latitude*degree
	n := math.Sin(origin)
	return cone(ecc, n, e.axis*p.first*parallel(ecc, origin)/(n*math.Pow(isometric(ecc, origin), n)), p)
}

// cone is the inverse of a conformal cone: n is its constant, radius the distance of the
// equator from its tip.
func cone(ecc, n, radius float64, p parameters) func(x, y float64) (float64, float64) {
	origin := radius * math.Pow(isometric(ecc, p.latitude*degree), n)
	return func(x, y float64) (float64, float64) {
		east, north := x-p.easting, origin-(y-p.northing)
		if n < 0 {
			east, north = -east, -north
		}
		distance := math.Copysign(math.Hypot(east, north), n)
		t := math.Pow(distance/radius, 1/n)
		// The tangent of the conformal latitude is sinh(-ln t).
		latitude := geodetic(ecc, (1/t-t)/2)
		return latitude / degree, p.longitude + math.Atan2(east, north)/n/degree
	}
}

// webMercator is the inverse of EPSG method 1024: a sphere.
func webMercator(x, y float64) (float64, float64) {
	return math.Atan(math.Sinh(y/grs80.axis)) / degree, x / grs80.axis / degree
}

// parallel is the radius of a parallel, in major axes.
func parallel(ecc, latitude float64) float64 {
	sin := math.Sin(latitude)
	return math.Cos(latitude) / math.Sqrt(1-ecc*ecc*sin*sin)
}

// isometric is exp of the negative isometric latitude.
func isometric(ecc, latitude float64) float64 {
	sin := ecc * math.Sin(latitude)
	return math.Tan(math.Pi/4-latitude/2) / math.Pow((1-sin)/(1+sin), ecc/2)
}

// conformalTangent is the tangent of the conformal latitude.
func conformalTangent(ecc, latitude float64) float64 {
	tan := math.Tan(latitude)
	return tangentOf(ecc, tan)
}

func tangentOf(ecc, tan float64) float64 {
	sigma := math.Sinh(ecc * math.Atanh(ecc*tan/math.Hypot(1, tan)))
	return tan*math.Hypot(1, sigma) - sigma*math.Hypot(1, tan)
}

// geodetic is the latitude whose conformal latitude has this tangent, by Newton's method
// after Karney. Three rounds are exact.
func geodetic(ecc, conformal float64) float64 {
	tan := conformal
	for range 5 {
		at := tangentOf(ecc, tan)
		tan += (conformal - at) / math.Hypot(1, at) * (1 + (1-ecc*ecc)*tan*tan) / ((1 - ecc*ecc) * math.Hypot(1, tan))
	}
	return math.Atan(tan)
}
