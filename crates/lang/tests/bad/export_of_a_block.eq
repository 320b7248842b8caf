t = 1
{
    let t = 2
    export t
}
