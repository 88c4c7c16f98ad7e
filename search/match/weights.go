package match

// ofFirms were fitted to the labelled set and rounded towards caution: a name with a typo,
// or without its trade, may be another firm's. go test ./search/match -run TestFit -v -fit
// fits them anew.
var ofFirms = weights{bias: 5.7, vector: vector{
	fTypo: -10, fTypoFirst: -2.3, fTypoTrade: -2, fCoreMissing: -8.2, fCoreConflict: -18, fTradeMissing: -1.3, fTradeConflict: -6.2,
	fPlaceMissing: -0.7, fPlaceConflict: -6, fNumberMissing: -3, fNumberConflict: -12, fOrder: -0.5, fLegal: -0.7,
	fJoined: -0.7, fAlias: -0.6, fShort: -2.7, fShortOpen: -5.5,
	fNoName: -7.5, fDomainEqual: 5.2, fDomainSimilar: 2.5, fEmailDomainEqual: 4.1, fPhoneEqual: 5, fPhoneConflict: -0.9,
	fCityEqual: 0.3, fCityConflict: -1.5, fStateConflict: -2,
}}

// ofPersons were chosen by hand. Names alone prove little: persons have namesakes.
var ofPersons = weights{bias: 0.9, vector: vector{
	fTypo: -8, fTypoFirst: -1.5, fCoreMissing: -3, fCoreConflict: -7, fTradeMissing: -0.2, fTradeConflict: -2.5,
	fOrder: -0.3, fJoined: -1, fAlias: -0.5,
	fNoName: -1.4, fDomainEqual: 3, fDomainSimilar: 2.5, fEmailEqual: 5, fEmailDomainEqual: 1, fEmailConflict: -1,
	fPhoneEqual: 3, fPhoneConflict: -0.5, fCityEqual: 0.8, fCityConflict: -1.2, fStateConflict: -1.5,
}}
