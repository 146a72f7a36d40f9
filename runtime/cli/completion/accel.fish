# SPDX-License-Identifier: Apache-2.0
# fish completion of accel and accel-setup; the program knows what fits.
function __accel_complete
	set -l words (commandline -opc)
	set -l cur (commandline -ct)
	set -l before (string match -r '^-[^=]*=' -- $cur)
	set -l path (string replace -r '^-[^=]*=' '' -- $cur)
	set -l accel (string replace -r -- '-setup$' '' $words[1])
	for line in (eval $accel __complete (string escape -- $words $cur) 2>/dev/null)
		switch $line
		case :file
			string replace -r -- '^' "$before" (__fish_complete_path $path)
		case :folder
			string replace -r -- '^' "$before" (__fish_complete_directories $path)
		case ':*'
		case '*'
			echo $line
		end
	end
end
complete -c accel -f -a '(__accel_complete)'
complete -c accel-setup -f -a '(__accel_complete)'
