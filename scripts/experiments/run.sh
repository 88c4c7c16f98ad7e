# shellcheck shell=bash
# What scripts that run experiments have in common. They set
#
#   experiments   lines "NAME PACKAGE TEST what it does"
#   settings      optional: further options and the variables they set, such as
#                 declare -A settings=([--minutes]=ATLAS_FUZZ_MINUTES)
#   limit         optional: what one experiment may take, 45m otherwise; 0: no end
#   alone         optional: names of experiments that "all" leaves out
#   called        optional: the command, $0 otherwise
#
# and call run_experiments TAG "$@", which does the rest and exits.

usage() {
	local option more="" name what
	for option in "${!settings[@]}"; do [[ "$option" == --seed ]] || more+=" [$option N]"; done
	echo "usage: ${called:-$0} NAME|all [--seed N]$more [--json FILE] [--write DOCUMENT] [go test flags]"
	for experiment in "${experiments[@]}"; do
		read -r name _ _ what <<<"$experiment"
		printf '  %-20s %s\n' "$name" "$what"
	done
}

run_experiments() {
	local tag=$1 chosen=${2:-}
	shift
	declare -gA settings
	if [[ -z "$chosen" || "$chosen" == -h || "$chosen" == --help ]]; then
		usage
		exit 0
	fi
	shift
	local table=() flags=()
	settings[--seed]=ATLAS_TEST_SEED
	while (($# > 0)); do
		if [[ "$1" == --json || "$1" == --write || -n "${settings[$1]:-}" ]]; then
			if (($# < 2)); then usage >&2; exit 2; fi
			if [[ -n "${settings[$1]:-}" ]]; then export "${settings[$1]}=$2"; else table+=("$1" "$2"); fi
			shift 2
		else
			flags+=("$1")
			shift
		fi
	done
	local experiment name package test what known=false
	for experiment in "${experiments[@]}"; do
		read -r name _ <<<"$experiment"
		if [[ "$chosen" == all || "$chosen" == "$name" ]]; then known=true; fi
	done
	if ! $known; then
		usage >&2
		exit 2
	fi

	scripts/setup
	scripts/build
	results=$(mktemp)
	trap 'rm -f "$results"' EXIT
	export ATLAS_BINARY=$PWD/bin/atlas ATLAS_EXPERIMENT_RESULTS=$results
	local statuses=() stack status
	for experiment in "${experiments[@]}"; do
		read -r name package test what <<<"$experiment"
		if [[ "$chosen" != all && "$chosen" != "$name" || "$chosen" == all && " ${alone:-} " == *" $name "* ]]; then continue; fi
		echo "== $name: $what"
		# Those of scripts/experiments start, and break, backends of their own.
		stack=()
		if [[ "$package" != ./scripts/experiments/* ]]; then stack=(bin/atlas-dev stack run --); fi
		status=0
		export ATLAS_EXPERIMENT_NAME=$name
		"${stack[@]}" go test -tags "$tag" -count=1 -timeout "${limit:-45m}" -v -run "^$test\$" "$package" "${flags[@]}" || status=$?
		statuses+=("$name=$status")
	done
	echo
	status=0
	go run ./scripts/experiments/summary --results "$results" "${table[@]}" "${statuses[@]}" || status=$?
	exit "$status"
}
